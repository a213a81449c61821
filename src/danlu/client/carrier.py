"""The client's carriers: one on httpx, which supports proxies and TLS, and a faster one without."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Optional, cast

import httpx

from danlu.client.config import is_loopback
from danlu.transfer.carrier import (
    CONNECT_SECONDS,
    MAX_ANSWER_BYTES,
    READ_SECONDS,
    Answer,
    Block,
    Body,
    Carrier,
    Credentials,
    Granted,
    Request,
    refused_by_server,
    refused_by_service,
    small_blocks,
)
from danlu.transfer.errors import Damaged, Disconnected, NotConnected
from danlu.transfer.http_carrier import HttpCarrier

_NOT_CONNECTED = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


def make_carrier(url: str, client: httpx.Client, *, credentials: Optional[Credentials]) -> Carrier:
    """Return the faster carrier that works for this URL. `client` has the server's address and credentials."""
    if credentials is None or not url.startswith("http://") or _has_proxy(url):
        return HttpxCarrier(client)
    return PlainCarrier(url, credentials, HttpxCarrier(client), user_agent=client.headers["User-Agent"])


def _has_proxy(url: str) -> bool:
    """Whether the environment or the system configures a proxy. httpx decides which addresses do not use it."""
    return not is_loopback(url) and not {"http", "all"}.isdisjoint(urllib.request.getproxies())


class PlainCarrier(HttpCarrier):
    """Uses its own sockets to the server, so that the kernel can send files. Object services are contacted through
    httpx."""

    def __init__(self, url: str, credentials: Credentials, for_services: HttpxCarrier, *, user_agent: str) -> None:
        self._for_services = for_services
        super().__init__(url, credentials, user_agent=user_agent)

    def close(self) -> None:
        super().close()
        self._for_services.close()

    @property
    def reaches_services(self) -> bool:
        return self._for_services.reaches_services

    @contextmanager
    def open_granted(self, granted: Granted) -> Iterator[Answer]:
        with self._for_services.open_granted(granted) as answer:
            yield answer


class HttpxCarrier:
    def __init__(self, client: httpx.Client) -> None:
        """`client` has the server's address and credentials."""
        self._client = client
        self._services: Optional[httpx.Client] = None
        self._lock = threading.Lock()
        self.reaches_services = True

    def close(self) -> None:
        """Close connections to object services; the server's client belongs to the caller."""
        if self._services is not None:
            self._services.close()

    @contextmanager
    def open(self, request: Request) -> Iterator[Answer]:
        wanted = _Wanted(request.method, request.path, request.headers, request.body, request.read_seconds)
        with _exchange(self._client, wanted) as answer:
            if 200 <= answer.status < 300 or answer.status == 307:
                yield answer
                return
            raise refused_by_server(answer, answer.reason)

    @contextmanager
    def open_granted(self, granted: Granted) -> Iterator[Answer]:
        wanted = _Wanted(granted.method, granted.url, granted.headers, granted.body, READ_SECONDS)
        try:
            with _exchange(self._client_for_services(), wanted) as answer:
                if 200 <= answer.status < 300:
                    yield answer
                    return
                raise refused_by_service(answer, answer.reason)
        except NotConnected:
            self.reaches_services = False  # unreachable from here; from now on the bytes go through the server
            raise

    def _client_for_services(self) -> httpx.Client:
        """A client for object services. It sends them nothing but what a grant contains."""
        with self._lock:
            if self._services is None:
                self._services = httpx.Client()
            return self._services


class _Wanted:
    def __init__(
        self, method: str, url: str, headers: Optional[Mapping[str, str]], body: Optional[Body], read_seconds: float
    ) -> None:
        self._method = method
        self._url = url
        self._headers = dict(headers or {})
        self._body = body
        self._timeout = httpx.Timeout(read_seconds, connect=CONNECT_SECONDS)
        if body is not None:
            self._headers["Content-Length"] = str(body.size)

    def send(self, client: httpx.Client) -> httpx.Response:
        """Send the request with a fresh body. Raise _Dead when a pooled connection turned out to be closed."""
        is_new = False

        def trace(event: str, _: object) -> None:
            nonlocal is_new
            is_new = is_new or event.startswith("connection.connect")

        request = client.build_request(
            self._method,
            self._url,
            headers=self._headers,
            # httpx accepts any bytes-like object
            content=cast("Iterator[bytes]", small_blocks(self._body)) if self._body is not None else None,
            timeout=self._timeout,
            extensions={"trace": trace},
        )
        try:
            return client.send(request, stream=True)
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise disconnected(error) if is_new else _Dead from error
        except httpx.TransportError as error:
            raise disconnected(error) from error


class _Dead(Exception):
    """A pooled connection was closed before the response started."""


@contextmanager
def _exchange(client: httpx.Client, wanted: _Wanted) -> Iterator[_HttpxAnswer]:
    answer = _HttpxAnswer(_send(client, wanted))
    try:
        yield answer
    finally:
        answer.close()


def _send(client: httpx.Client, wanted: _Wanted) -> httpx.Response:
    """Send a request. While pooled connections turn out to be dead, use the next one, finally a new one."""
    while True:
        try:
            return wanted.send(client)
        except _Dead:
            continue


def disconnected(error: httpx.TransportError) -> Disconnected:
    """Translate an httpx error into one of `transfer`."""
    kind = NotConnected if isinstance(error, _NOT_CONNECTED) else Disconnected
    return kind(str(error) or type(error).__name__)


class _HttpxAnswer:
    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.reason = response.reason_phrase

    def header(self, name: str) -> str:
        return str(self._response.headers.get(name, ""))

    def blocks(self) -> Iterator[Block]:
        try:
            yield from self._response.iter_raw()  # in the sizes that arrive: a larger buffer would be lost in a break
        except httpx.TransportError as error:
            raise disconnected(error) from error

    def read(self, max_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        data = bytearray()
        for block in self.blocks():
            data += block
            if len(data) > max_bytes:
                raise Damaged(f"an answer of more than {max_bytes} bytes")
        return bytes(data)

    def close(self) -> None:
        """Close the response. If it has no body, its connection can be reused."""
        is_bodiless = self._response.request.method == "HEAD" or self.header("Content-Length") == "0"
        try:
            if is_bodiless and not self._response.is_stream_consumed:
                self._response.read()
        except httpx.TransportError:
            pass  # the response has no body that could be lost
        finally:
            self._response.close()
