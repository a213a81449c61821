"""Limits of request bodies: the size of each, and the memory that all bodies of a user take."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from danlu.content.manifest import MAX_BYTES as MAX_MANIFEST_BYTES
from danlu.errors import TooLarge, TooManyRequests
from danlu.spec.units import show_size
from danlu.store.metrics.journals import MAX_PIECE_BYTES
from danlu.wire.artifacts import MAX_PACK_BYTES
from danlu.wire.batches import MAX_BATCH_BYTES

STRANGER_BYTES = 64 << 10
"""Limit for clients that are not signed in, on every route."""

HEADER_BYTES = 4 << 20
"""Room for the header of a batch, which names its pieces."""

MAX_OBJECT_BYTES = 5 << 40
MAX_BLOB_BYTES = 64 << 30

_MLFLOW_FILES = (
    ("PUT", "/api/2.0/mlflow-artifacts/artifacts/{path:path}"),
    ("PUT", "/ajax-api/2.0/mlflow-artifacts/artifacts/{path:path}"),
    ("POST", "/api/2.0/mlflow/upload-artifact"),
    ("POST", "/ajax-api/2.0/mlflow/upload-artifact"),
)
UPLOAD_BYTES = 8 << 20
"""Memory that a body streamed to disk counts for: its pieces that are being written."""

MAX_WAIT_SECONDS = 30.0
RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class BodyLimit:
    most_bytes: int
    goes_to_disk: bool = False
    """Whether the route streams it to disk in pieces, and keeps none in memory."""

    is_json: bool = False
    """Whether it is read whole before the route begins."""

    def in_memory(self, announced: int | None) -> int:
        """How much memory it takes at most."""
        if self.goes_to_disk:
            return UPLOAD_BYTES
        return self.most_bytes if announced is None else min(announced, self.most_bytes)


class _Rule(NamedTuple):
    method: str
    path: re.Pattern[str]
    limit: BodyLimit


def _rule(
    method: str, path: str, most_bytes: int, *, goes_to_disk: bool = False, is_json: bool = False, at: str = "/api/v1"
) -> _Rule:
    pattern = re.sub(r"\{[^}]+:path\}", ".+", path)
    pattern = re.sub(r"\{[^}]+\}", "[^/]+", pattern)
    return _Rule(method, re.compile(f"{at}{pattern}"), BodyLimit(most_bytes, goes_to_disk, is_json))


RULES = (
    _rule("PUT", "/buckets/{bucket}/objects/{key:path}", MAX_OBJECT_BYTES, goes_to_disk=True),
    _rule("PUT", "/uploads/{upload}", MAX_OBJECT_BYTES, goes_to_disk=True),
    _rule("PUT", "/blobs/{digest}", MAX_BLOB_BYTES, goes_to_disk=True),
    _rule("PUT", "/runs/{run}/journals/{journal}", MAX_PIECE_BYTES),
    _rule("POST", "/buckets/{bucket}/batches", MAX_BATCH_BYTES + HEADER_BYTES),
    _rule("POST", "/blobs/batches", MAX_BATCH_BYTES + HEADER_BYTES),
    _rule("POST", "/artifacts/uploads/{artifact}/chunks", MAX_PACK_BYTES + HEADER_BYTES),
    _rule("POST", "/artifacts/uploads/{artifact}/commit", MAX_MANIFEST_BYTES + HEADER_BYTES),
    _rule("POST", "/trees", 32 << 20, is_json=True),
    _rule("POST", "/jobs/{job}/metrics", 8 << 20, is_json=True),
    *(
        _rule(method, f"{project}{path}", MAX_OBJECT_BYTES, goes_to_disk=True, at="/compat/mlflow")
        for method, path in _MLFLOW_FILES
        for project in ("", "/projects/{project}")
    ),
)
"""The routes that take more than the setting `max_body_bytes`."""


def limit_of(method: str, path: str, most_bytes: int) -> BodyLimit:
    """The limit of a route; `most_bytes` where no rule matches."""
    for rule in RULES:
        if rule.method == method and rule.path.fullmatch(path):
            return rule.limit
    return BodyLimit(most_bytes, is_json=True)


def too_large(most_bytes: int, *, is_stranger: bool) -> TooLarge:
    told = f"the body is too large: expected at most {most_bytes} bytes ({show_size(most_bytes)})"
    return TooLarge(f"{told} without credentials" if is_stranger else told)


class Memory:
    """Limits the memory that bodies of one user take. Requests beyond the limit wait in order of arrival."""

    def __init__(self, most_bytes: int, *, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self._most_bytes, self._max_wait_seconds = most_bytes, max_wait_seconds
        self._used: dict[str, int] = {}
        self._waiting: dict[str, deque[tuple[int, asyncio.Future[None]]]] = {}

    async def reserve(self, person: str, size: int) -> None:
        if person not in self._waiting and self._has_room(person, size):
            self._used[person] = self._used.get(person, 0) + size
            return
        place = (size, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(person, deque()).append(place)
        try:
            async with asyncio.timeout(self._max_wait_seconds):
                await place[1]
        except BaseException as error:
            if place[1].done() and not place[1].cancelled():
                self.release(person, size)
            else:
                self._leave(person, place)
            if isinstance(error, TimeoutError):
                told = f"too many uploads at a time: {show_size(self._most_bytes)} of yours are on their way already"
                raise TooManyRequests(
                    f"{told}; try again in {RETRY_SECONDS} s", retry_after_seconds=RETRY_SECONDS
                ) from None
            raise

    def release(self, person: str, size: int) -> None:
        left = self._used.get(person, 0) - size
        if left > 0:
            self._used[person] = left
        else:
            self._used.pop(person, None)
        self._serve(person)

    def _has_room(self, person: str, size: int) -> bool:
        used = self._used.get(person, 0)
        return not used or used + size <= self._most_bytes

    def _serve(self, person: str) -> None:
        waiting = self._waiting.get(person)
        while waiting and self._has_room(person, waiting[0][0]):
            size, place = waiting.popleft()
            if not place.done():
                self._used[person] = self._used.get(person, 0) + size
                place.set_result(None)
        if not waiting:
            self._waiting.pop(person, None)

    def _leave(self, person: str, place: tuple[int, asyncio.Future[None]]) -> None:
        waiting = self._waiting.get(person)
        if waiting is not None and place in waiting:
            waiting.remove(place)
        self._serve(person)
