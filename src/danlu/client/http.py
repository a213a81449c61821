"""One connection pool to one server. Retries requests when that is safe, and raises only Danlu's errors."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, TypeVar, Union

import httpx
from pydantic import BaseModel, ValidationError

from danlu import __version__
from danlu.client.carrier import disconnected, make_carrier
from danlu.client.config import is_loopback
from danlu.errors import BadChecksum, Conflict, DanluError, ServerUnreachable, Unavailable, from_wire
from danlu.transfer.api import Api
from danlu.transfer.carrier import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    MAX_ERROR_BYTES,
    PREFIX,
    READ_SECONDS,
    Credentials,
    bearer,
    refusal,
)
from danlu.transfer.errors import Changed, Damaged, NotConnected, Refused, Replaced, ServerAway
from danlu.transfer.retrying import Retry

PATIENCE_SECONDS = 2.0
"""How long to retry an unreachable server: short, because users wait."""

Primitive = Union[str, int, float, bool, None]
Query = Mapping[str, Union[str, int, float, bool, Sequence[Union[str, int]], None]]
M = TypeVar("M", bound=BaseModel)


class ComesBack(Exception):
    """The server, or a proxy in front of it, is temporarily unavailable."""

    def __init__(self, answer: DanluError) -> None:
        super().__init__(str(answer))
        self.answer = answer


BROKEN = (httpx.TransportError, ComesBack)
"""Errors of `stream` after which retrying later makes sense."""


class _SignedIn(httpx.Auth):
    """Reads the credentials before every request."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = bearer(self._credentials)
        yield request


class Http:
    """Sends requests for all nouns of the client. Thread-safe."""

    def __init__(self, url: str, credentials: Optional[Credentials]) -> None:
        self.url = url
        self._client = httpx.Client(
            base_url=url + PREFIX,
            headers={"User-Agent": f"danlu/{__version__}"},
            auth=_SignedIn(credentials) if credentials else None,
            timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
            # proxies of the environment are not used for loopback
            trust_env=not is_loopback(url),
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=16, keepalive_expiry=IDLE_SECONDS),
        )
        self._retry = Retry(PATIENCE_SECONDS)
        self.carrier = make_carrier(url, self._client, credentials=credentials)
        self.api = Api(self.carrier, self._retry)
        """For transfers. It raises other errors: use it in a `with plain_errors()`."""

    def close(self) -> None:
        self._client.close()
        self.carrier.close()

    def get(self, path: str, into: type[M], *, query: Optional[Query] = None) -> M:
        return self._read(self.send("GET", path, query=query), into)

    def post(
        self, path: str, into: type[M], *, body: Optional[BaseModel] = None, is_repeatable: bool = False, **more: Any
    ) -> M:
        return self._read(self.send("POST", path, body=body, is_repeatable=is_repeatable, **more), into)

    def put(self, path: str, into: type[M], *, body: Optional[BaseModel] = None) -> M:
        return self._read(self.send("PUT", path, body=body), into)

    def patch(self, path: str, into: type[M], *, body: BaseModel) -> M:
        return self._read(self.send("PATCH", path, body=body), into)

    def delete(self, path: str, into: type[M], *, query: Optional[Query] = None) -> M:
        return self._read(self.send("DELETE", path, query=query), into)

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
        """Send a request and read the whole response. Retried after a broken connection when that is safe."""
        content = body.model_dump_json(exclude_none=True).encode() if isinstance(body, BaseModel) else body
        kind = "application/json" if isinstance(body, BaseModel) else "application/octet-stream"
        all_headers = {**(headers or {}), **({"Content-Type": kind} if content is not None else {})}

        timeout = httpx.Timeout(read_seconds, connect=CONNECT_SECONDS)

        def once() -> httpx.Response:
            try:
                response = self._client.request(
                    method, path, params=_params(query), content=content, headers=all_headers, timeout=timeout
                )
            except httpx.TransportError as error:
                raise disconnected(error) from error
            if response.is_error:
                raise refusal(response.status_code, response.reason_phrase, response.content)
            return response

        may_repeat = method != "POST" if is_repeatable is None else is_repeatable
        with self.plain_errors():
            response = self._retry.call(f"{method} {path}", once, is_repeatable=may_repeat)
        if not response.is_success:
            raise _not_ours(response)
        return response

    def put_file(self, path: str, file: Path) -> None:
        """Upload a file as the body of a request, in pieces."""

        def once() -> None:
            with file.open("rb") as data:
                size = str(os.fstat(data.fileno()).st_size)
                try:
                    response = self._client.put(path, content=data, headers={"Content-Length": size})
                except httpx.TransportError as error:
                    raise disconnected(error) from error
            if response.is_error:
                raise refusal(response.status_code, response.reason_phrase, response.content)

        with self.plain_errors():
            self._retry.call(f"PUT {path}", once, is_repeatable=True)

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Query] = None,
        headers: Optional[Mapping[str, str]] = None,
        read_seconds: float = READ_SECONDS,
    ) -> Iterator[httpx.Response]:
        """Yield a response to read in pieces. Raises httpx.TransportError as it is, and never retries."""
        timeout = httpx.Timeout(read_seconds, connect=CONNECT_SECONDS)
        request = self._client.build_request(method, path, params=_params(query), headers=headers, timeout=timeout)
        response = self._client.send(request, stream=True)
        try:
            if response.is_error:
                refused = refusal(response.status_code, response.reason_phrase, _read_error_body(response))
                error = _plain(refused)
                raise ComesBack(error) if refused.is_temporary else error
            if not response.is_success:
                raise _not_ours(response)
            yield response
        finally:
            response.close()

    @contextmanager
    def plain_errors(self) -> Iterator[None]:
        """Turn errors of `transfer` into those of the SDK."""
        try:
            yield
        except Refused as refused:
            raise _plain(refused) from refused
        except ServerAway as away:
            raise self.unreachable(away) from None
        except Replaced as replaced:
            raise Conflict(str(replaced)) from replaced
        except (Changed, Damaged) as error:
            raise BadChecksum(str(error)) from error

    def unreachable(self, error: BaseException) -> DanluError:
        """Describe in one sentence why the server could not be reached."""
        if isinstance(error, ComesBack):
            return error.answer
        problem = disconnected(error) if isinstance(error, httpx.TransportError) else error.__cause__
        if isinstance(problem, NotConnected):
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


def _plain(refused: Refused) -> DanluError:
    """Return the error that the server raised."""
    body = {"error": refused.error, "message": refused.message, "fields": refused.fields}
    return from_wire(body if refused.error else None, refused.status)


def _not_ours(response: httpx.Response) -> Unavailable:
    return Unavailable(f"{response.url} answered {response.status_code}: it is not the address of a Danlu server")


def _read_error_body(response: httpx.Response) -> bytes:
    length = response.headers.get("Content-Length", "")
    return response.read() if not length.isdigit() or int(length) <= MAX_ERROR_BYTES else b""


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
