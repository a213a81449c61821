"""The server's API for transfers: a carrier, and the retry policy."""

from __future__ import annotations

import json
import threading
import urllib.parse
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Callable, Optional, TypeVar

from danlu.transfer.carrier import READ_SECONDS, Answer, Body, Carrier, Granted, Request, body_of
from danlu.transfer.errors import Damaged
from danlu.transfer.retrying import Retry

T = TypeVar("T")


class Api:
    """Every call is retried by the policy, unless it says otherwise. Safe to share between threads."""

    def __init__(self, carrier: Carrier, retry: Retry) -> None:
        self.carrier = carrier
        self._retry = retry

    def until(self, stop: threading.Event) -> Api:
        """The same, whose waiting is ended by an event."""
        return Api(self.carrier, self._retry.until(stop))

    def hasty(self, seconds: float) -> Api:
        """The same, with less patience for temporary refusals."""
        return Api(self.carrier, self._retry.hasty(seconds))

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def post(self, path: str, values: Any = None, *, read_seconds: float = READ_SECONDS) -> Any:
        return self.ask("POST", path, values, read_seconds=read_seconds)

    def ask(self, method: str, path: str, values: Any = None, *, read_seconds: float = READ_SECONDS) -> Any:
        """JSON there and back."""
        return self._json(_json_request(method, path, values, read_seconds))

    def send(self, method: str, path: str, body: Body, *, headers: Optional[Mapping[str, str]] = None) -> Any:
        """Bytes there, JSON back."""
        return self._json(_bytes_request(method, path, body, headers))

    def fetch(self, method: str, path: str, values: Any = None) -> bytes:
        """JSON there, bytes back."""
        return self._read(_json_request(method, path, values, READ_SECONDS))

    def head(self, path: str) -> Answer:
        """The head of an answer; there is no body to read."""

        def attempt() -> Answer:
            with self.open(Request("HEAD", path)) as answer:
                return answer

        return self.patiently(path, attempt)

    def patiently(self, what: str, attempt: Callable[[], T], *, progress: Callable[[], int] = lambda: 0) -> T:
        """For what is more than one request: see `Retry.call`."""
        return self._retry.call(what, attempt, progress=progress)

    def open(self, request: Request) -> AbstractContextManager[Answer]:
        """One request, not retried."""
        return self.carrier.open(request)

    def open_granted(self, granted: Granted) -> AbstractContextManager[Answer]:
        """One request to an object service, not retried."""
        return self.carrier.open_granted(granted)

    def send_once(self, method: str, path: str, body: Body, *, headers: Optional[Mapping[str, str]] = None) -> Any:
        """As `send`, not retried."""
        with self.open(_bytes_request(method, path, body, headers)) as answer:
            return _parsed(path, answer.read())

    def _json(self, request: Request) -> Any:
        return _parsed(request.path, self._read(request))

    def _read(self, request: Request) -> bytes:
        def attempt() -> bytes:
            with self.open(request) as answer:
                return answer.read()

        return self.patiently(f"{request.method} {request.path.partition('?')[0]}", attempt)


def quote(text: str) -> str:
    """Escape a key for a path; its slashes stay."""
    return urllib.parse.quote(text, safe="/")


def _json_request(method: str, path: str, values: Any, read_seconds: float) -> Request:
    if values is None:
        return Request(method, path, read_seconds=read_seconds)
    body = body_of(json.dumps(values).encode())
    return Request(method, path, body, {"Content-Type": "application/json"}, read_seconds)


def _bytes_request(method: str, path: str, body: Body, headers: Optional[Mapping[str, str]]) -> Request:
    return Request(method, path, body, {"Content-Type": "application/octet-stream", **(headers or {})})


def _parsed(path: str, data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError as error:
        raise Damaged(f"{path.partition('?')[0]} answered with something that is no JSON: {error}") from error
