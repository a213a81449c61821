"""One connection pool to one server: requests that are tried again when that is safe, and one kind of error."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Callable, Optional, TypeVar, Union

import httpx
from pydantic import BaseModel, ValidationError

from danlu import __version__
from danlu.client.config import is_loopback
from danlu.errors import DanluError, ServerUnreachable, Unavailable, from_wire

PREFIX = "/api/v1"
READ_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
_PAUSES_SECONDS = (0.1, 0.3, 0.8)
_TRY_AGAIN = (502, 503, 504)
_MAX_ERROR_BYTES = 1 << 20

Primitive = Union[str, int, float, bool, None]
Query = Mapping[str, Union[str, int, float, bool, Sequence[Union[str, int]], None]]
M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


class ComesBack(Exception):
    """The server, or something before it, is not ready for a moment."""

    def __init__(self, answer: DanluError) -> None:
        super().__init__(str(answer))
        self.answer = answer


BROKEN = (httpx.TransportError, ComesBack)
"""What a caller of `stream` may see when trying again later makes sense."""


class Http:
    """What the nouns of the client send their requests through. Safe to use from several threads."""

    def __init__(self, url: str, api_key: Optional[str]) -> None:
        self.url = url
        self.is_direct = True
        """Whether object services that a server sends us to were in reach so far."""

        self._services: Optional[httpx.Client] = None
        self._lock = threading.Lock()
        headers = {"User-Agent": f"danlu/{__version__}"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._client = httpx.Client(
            base_url=url + PREFIX,
            headers=headers,
            timeout=httpx.Timeout(READ_SECONDS, connect=_CONNECT_SECONDS),
            # a proxy of the environment has no business between this machine and itself
            trust_env=not is_loopback(url),
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=16, keepalive_expiry=30),
        )

    def close(self) -> None:
        self._client.close()
        if self._services is not None:
            self._services.close()

    @property
    def services(self) -> httpx.Client:
        """For object services: nothing of ours is sent to them but what a grant says."""
        with self._lock:
            if self._services is None:
                self._services = httpx.Client(timeout=httpx.Timeout(READ_SECONDS, connect=_CONNECT_SECONDS))
            return self._services

    @contextmanager
    def stream_directly(self, path: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """Open an object for reading, at the object service when the server sends us there and it is in reach."""
        if not self.is_direct:
            with self.stream("GET", path, headers=headers) as response:
                yield response
            return
        with self.stream("GET", path, headers={**headers, "X-Danlu-Direct": "yes"}, may_lead_on=True) as response:
            place = response.headers["Location"] if response.status_code == 307 else None
            if place is None:
                yield response
                return
        try:
            answer = self.services.send(self.services.build_request("GET", place, headers=headers), stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            self.is_direct = False  # not in reach from here; the server passes the bytes on
            raise
        try:
            if answer.is_error:
                raise httpx.ReadError(f"the object service answered {answer.status_code}")
            yield answer
        finally:
            answer.close()

    def get(self, path: str, into: type[M], *, query: Optional[Query] = None) -> M:
        return self._read(self.send("GET", path, query=query), into)

    def post(
        self, path: str, into: type[M], *, body: Optional[BaseModel] = None, is_repeatable: bool = False, **more: Any
    ) -> M:
        return self._read(self.send("POST", path, body=body, is_repeatable=is_repeatable, **more), into)

    def put(self, path: str, into: type[M], *, body: BaseModel) -> M:
        return self._read(self.send("PUT", path, body=body), into)

    def patch(self, path: str, into: type[M], *, body: BaseModel) -> M:
        return self._read(self.send("PATCH", path, body=body), into)

    def delete(self, path: str, into: type[M], *, query: Optional[Query] = None) -> M:
        return self._read(self.send("DELETE", path, query=query), into)

    def send_bytes(self, method: str, path: str, data: bytes, into: type[M]) -> M:
        """Send bytes that may be sent twice."""
        return self._read(self.send(method, path, body=data, is_repeatable=True), into)

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Query] = None,
        body: Union[BaseModel, bytes, None] = None,
        headers: Optional[Mapping[str, str]] = None,
        is_repeatable: Optional[bool] = None,
        read_seconds: float = READ_SECONDS,
    ) -> httpx.Response:
        """Send and read the whole answer. Tried again after a broken connection when that cannot do harm."""
        content = body.model_dump_json(exclude_none=True).encode() if isinstance(body, BaseModel) else body
        kind = "application/json" if isinstance(body, BaseModel) else "application/octet-stream"
        all_headers = {**(headers or {}), **({"Content-Type": kind} if content is not None else {})}

        timeout = httpx.Timeout(read_seconds, connect=_CONNECT_SECONDS)

        def once() -> httpx.Response:
            response = self._client.request(
                method, path, params=_params(query), content=content, headers=all_headers, timeout=timeout
            )
            raise_for_error(response)
            return response

        return self.retry(once, is_repeatable=method != "POST" if is_repeatable is None else is_repeatable)

    def retry(self, once: Callable[[], T], *, is_repeatable: bool = True) -> T:
        """Call it, again after a pause when the connection broke; the last failure is raised as ServerUnreachable."""
        for pause in (*_PAUSES_SECONDS, None):
            try:
                return once()
            except BROKEN as error:
                # a connection that never came about has done nothing, so even a POST may be sent again
                is_safe = is_repeatable or isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))
                if pause is None or not is_safe:
                    raise self.unreachable(error) from error
            time.sleep(pause * random.uniform(0.7, 1.3))
        raise AssertionError("the last round returns or raises")

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Query] = None,
        headers: Optional[Mapping[str, str]] = None,
        content: Optional[Iterator[bytes]] = None,
        read_seconds: float = READ_SECONDS,
        may_lead_on: bool = False,
    ) -> Iterator[httpx.Response]:
        """Open an answer that is read in pieces; httpx.TransportError comes out as it is. Never tried again here."""
        timeout = httpx.Timeout(read_seconds, connect=_CONNECT_SECONDS)
        request = self._client.build_request(
            method, path, params=_params(query), headers=headers, content=content, timeout=timeout
        )
        response = self._client.send(request, stream=True)
        try:
            if response.is_error:
                _read_error_body(response)
            if not (may_lead_on and response.status_code == 307):
                raise_for_error(response)
            yield response
        finally:
            response.close()

    def unreachable(self, error: BaseException) -> DanluError:
        """Say in one sentence what kept us from the server."""
        if isinstance(error, ComesBack):
            return error.answer
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
            return ServerUnreachable(
                f"no server answers at {self.url} ({_brief(error)}); `danlu up` starts one, DANLU_URL names another"
            )
        return ServerUnreachable(
            f"the connection to {self.url} broke off ({_brief(error)}); is the server up? `danlu up` starts one"
        )

    def cookies(self) -> httpx.Cookies:
        return self._client.cookies

    def _read(self, response: httpx.Response, into: type[M]) -> M:
        try:
            return into.model_validate_json(response.content)
        except ValidationError as error:
            raise Unavailable(
                f"{self.url} answered {response.request.method} {response.request.url.path} with something that is "
                "not from a Danlu server of this version; is the address right?"
            ) from error


def raise_for_error(response: httpx.Response) -> None:
    """Raise what the server meant. The body of a streamed error must have been read."""
    if response.is_success:
        return
    if not response.is_error:
        raise Unavailable(f"{response.url} answered {response.status_code}: it is not the address of a Danlu server")
    try:
        body: object = response.json()
    except ValueError:
        body = None
    error = from_wire(body, response.status_code)
    raise ComesBack(error) if response.status_code in _TRY_AGAIN else error


def _read_error_body(response: httpx.Response) -> None:
    length = response.headers.get("Content-Length", "")
    if not length.isdigit() or int(length) <= _MAX_ERROR_BYTES:
        response.read()


def _params(query: Optional[Query]) -> Optional[httpx.QueryParams]:
    if not query:
        return None
    params: list[tuple[str, Primitive]] = []
    for name, value in query.items():
        values = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
        params.extend((name, _text(one)) for one in values if one is not None)
    return httpx.QueryParams(params)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _brief(error: BaseException) -> str:
    return str(error) or type(error).__name__
