"""Pieces of logs, from the agents into files of the server: by the door where there is a way, else through Ray.

A piece never takes longer than whoever asked for it waits. By the door it ends when its time is over; through Ray a
piece comes whole or not at all, so that the next one of a slow node is shorter.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Sequence
from typing import Any

from danlu.engines.ray.log_door import MIN_BYTES, LogDoor, Way, write_piece
from danlu.engines.ray.messages import Answer, Call, value_of
from danlu.errors import EngineUnavailable, StorageFull

LONGEST_BYTES, SHORTEST_BYTES = 8 << 20, 64 << 10
SLOW, FAST = 0.5, 0.1
"""Of the time that there is for a piece: the next one is half as long, or twice."""

Target = tuple[str, int, int]
"""A file, where in it the bytes belong, and how many of them at most."""


class LogPieces:
    def __init__(self, call: Callable[[Sequence[Call], float], list[Answer]], door: LogDoor | None) -> None:
        """`call`: asks agents, each within some seconds."""
        self._call, self._door = call, door
        self._lengths: dict[str, int] = {}
        """Of pieces through Ray, by node; no entry: the longest."""

    def copy(self, call: Call, target: Target, *, seconds: float) -> tuple[int, Any]:
        """Write a piece of a log; return how long it is, and its marks. `call`: `read_log_piece` without the way."""
        path, at, most = target
        try:
            if self._door is None or not self._door.is_open_for(call.node):
                data, size, marks = self._read_through_ray(call, seconds)
            else:
                data, size, marks = self._have_brought(self._door, call, seconds=seconds, target=target)
            if data is not None:
                write_piece(path, memoryview(data)[:most], at=at)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageFull(f"the disk is full: cannot write {path}") from error
            raise EngineUnavailable(f"a log cannot be written: {error}") from error
        return min(size, most), marks

    def _have_brought(self, door: LogDoor, call: Call, *, seconds: float, target: Target) -> tuple[Any, int, Any]:
        """The same answer as through Ray: a short piece is in it, and a long one that did not find the way."""
        until = time.monotonic() + seconds
        path, at, most = target
        with door.expect(path, at=at, most=most) as (way, expected):
            data, size, marks = self._read(call, way, seconds=seconds)
            if data is None:
                expected.wait(until - time.monotonic())
        if expected.problem is not None:
            raise expected.problem
        if data is not None:
            if size >= MIN_BYTES:
                door.close_for(call.node)
            return data, size, marks
        if not expected.size:
            door.close_for(call.node)
            raise EngineUnavailable(f"nothing of {size} bytes of a log came from {call.node}")
        return None, min(size, expected.size), marks

    def _read_through_ray(self, call: Call, seconds: float) -> tuple[Any, int, Any]:
        length = self._lengths.get(call.node, LONGEST_BYTES)
        handle, offset, limit, mark = call.arguments
        began = time.monotonic()
        try:
            return self._read(
                call._replace(arguments=(handle, offset, min(limit, length), mark)), None, seconds=seconds
            )
        finally:
            share = (time.monotonic() - began) / seconds
            if share > SLOW:
                self._lengths[call.node] = max(SHORTEST_BYTES, length // 2)
            elif share < FAST:
                self._lengths[call.node] = min(LONGEST_BYTES, length * 2)

    def _read(self, call: Call, way: Way | None, *, seconds: float) -> tuple[Any, int, Any]:
        (answer,) = self._call([call._replace(arguments=(*call.arguments, way and tuple(way)))], seconds)
        found: tuple[Any, int, Any] = value_of(answer)
        return found
