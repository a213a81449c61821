"""Copies what goes through `sys.stdout` and `sys.stderr`. The streams stay what they are; only `write` is wrapped.

Descriptors are not touched: what C code or a child process prints directly is not seen, and nothing breaks.
"""

from __future__ import annotations

import sys
from typing import Any, Callable

MAX_BYTES = 8 << 20
"""Of each stream and run. More is left out; the last words say so."""

Listener = Callable[[int, str], None]
_listeners: list[Listener] = []
_wrapped: list[tuple[Any, Any]] = []
"""Streams, and what we put in the place of their `write`."""


def listen(listener: Listener) -> None:
    """Have the listener called with (1 or 2, text) for everything that is printed from now on."""
    _listeners.append(listener)
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        if not any(known is stream for known, _ in _wrapped):
            _wrap(number, stream)


def stop(listener: Listener) -> None:
    """End it. With the last listener the streams are as they were."""
    if listener in _listeners:
        _listeners.remove(listener)
    if _listeners:
        return
    for stream, own in _wrapped:
        # if other code has wrapped it again, that wrapper stays; ours passes text on and records nothing
        if vars(stream).get("write") is own:
            del stream.write
    _wrapped.clear()


def _wrap(number: int, stream: Any) -> None:
    if stream is None:
        return  # there is no console
    original = stream.write

    def write(text: str) -> Any:
        written = original(text)
        for listener in _listeners:
            listener(number, text)
        return written

    try:
        stream.write = write
        vars(stream)
    except (AttributeError, TypeError):  # an object that takes no attributes
        return
    _wrapped.append((stream, write))


class Bounded:
    """A listener that hands on at most MAX_BYTES of each stream, and nothing of what it causes itself."""

    def __init__(self, add: Callable[[int, bytes], None]) -> None:
        self._add = add
        self._left = {1: MAX_BYTES, 2: MAX_BYTES}
        self._is_inside = False

    def __call__(self, number: int, text: str) -> None:
        left = self._left[number]
        if left <= 0 or self._is_inside or not text:
            return
        self._is_inside = True
        try:
            data = text.encode("utf-8", "backslashreplace") if isinstance(text, str) else bytes(text)
            self._left[number] = left - len(data)
            if len(data) >= left:
                data = data[:left] + b"\n[danlu: more output was not kept]\n"
            self._add(number, data)
        except Exception:
            self._left[number] = 0  # never in the way of a print
        finally:
            self._is_inside = False
