"""Event streams that survive broken connections."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from typing import Callable, Optional

import httpx

from danlu.client.http import BROKEN, Http, Query
from danlu.client.sse import SseEvent, SseParser
from danlu.transfer.retrying import Backoff

PATIENCE_SECONDS = 300.0
"""How long to retry a stream that has worked before."""

QUIET_SECONDS = 45.0
"""Silence after which a connection counts as dead. The server sends keep-alives more often."""

_FIRST_PATIENCE_SECONDS = 1.2
_LONGEST_PAUSE_SECONDS = 5.0


class NotEvents(Exception):
    """The response is not an event stream, or a proxy buffers it."""


class TimeLimit(TimeoutError):
    """The deadline of a stream was reached. Distinguishes it from the timeout of a socket."""


def events(
    http: Http,
    path: str,
    *,
    query: Callable[[], Query],
    ends_with_connection: bool = False,
    deadline: Optional[float] = None,
) -> Generator[Optional[SseEvent], None, None]:
    """Yield the events of a path, over as many connections as needed; None for a keep-alive.

    `query` is called before each connection, so that it can return where to continue. The caller stops reading after
    the last event; a connection that ends is reopened, unless `ends_with_connection`. Raises ServerUnreachable when
    nothing was received for too long, TimeLimit at the deadline (of time.monotonic).
    """
    patience = _FIRST_PATIENCE_SECONDS if deadline is None else math.inf
    backoff = Backoff(patience, longest_seconds=_LONGEST_PAUSE_SECONDS)
    while True:
        problem: Optional[BaseException] = None
        try:
            for event in _one_connection(http, path, query=query(), deadline=deadline):
                if patience == _FIRST_PATIENCE_SECONDS:
                    patience = PATIENCE_SECONDS
                    backoff = Backoff(patience, longest_seconds=_LONGEST_PAUSE_SECONDS)
                backoff.reset()
                yield event
            if ends_with_connection:
                return
        except BROKEN as error:
            problem = error
        pause = backoff.failed()
        if pause is None and problem is not None:
            raise http.unreachable(problem) from problem
        _check(deadline)
        pause = _LONGEST_PAUSE_SECONDS if pause is None else pause
        time.sleep(pause if deadline is None else max(0.0, min(pause, deadline - time.monotonic())))


def _one_connection(http: Http, path: str, *, query: Query, deadline: Optional[float]) -> Iterator[Optional[SseEvent]]:
    quiet = QUIET_SECONDS if deadline is None else max(0.05, min(QUIET_SECONDS, deadline - time.monotonic()))
    parser, num_events = SseParser(), 0
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-cache"}
    with http.stream("GET", path, query=query, headers=headers, read_seconds=quiet) as response:
        if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
            raise NotEvents(f"{path} answers {response.headers.get('Content-Type')}")
        try:
            for piece in response.iter_raw():
                complete = parser.feed(piece)
                num_events += len(complete)
                yield from complete or (None,)
                _check(deadline)
                if deadline is not None and deadline - time.monotonic() < quiet / 2:
                    return  # the next connection has a timeout that ends at the deadline
        except httpx.ReadTimeout as error:
            _check(deadline)
            if num_events == 0:
                raise NotEvents(f"{path} sent nothing for {quiet:.0f} s") from error
            raise


def _check(deadline: Optional[float]) -> None:
    if deadline is not None and time.monotonic() >= deadline:
        raise TimeLimit("the time is up")
