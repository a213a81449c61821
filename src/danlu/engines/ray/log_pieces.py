"""Copy log pieces from agents into files of the server: directly if the agent can connect, else through Ray.

No piece takes longer than the request's timeout. A direct piece is cut off at the time limit. A piece through Ray
arrives completely or not at all, so the next one from a slow node is shorter.
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
"""Share of the timeout that a piece took: above SLOW the next is half as long, below FAST twice as long."""

Target = tuple[str, int, int]
"""(file, offset in it, maximum number of bytes)."""


class LogPieces:
    def __init__(self, call: Callable[[Sequence[Call], float], list[Answer]], door: LogDoor | None) -> None:
        """`call`: calls agents, with a timeout in seconds."""
        self._call, self._door = call, door
        self._lengths: dict[str, int] = {}
        """Length of pieces through Ray, by node; the longest by default."""

    def copy(self, call: Call, target: Target, *, seconds: float) -> tuple[int, Any]:
        """Write a piece of a log; return its length and its marks. `call`: `read_log_piece` without its last
        argument."""
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
        """Like `_read_through_ray`. Short pieces, and long ones that could not be sent directly, come with the
        answer."""
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
