"""Copy what is written to `sys.stdout` and `sys.stderr`. The streams are kept; only `write` is wrapped.

Descriptors are not redirected: direct output of C code and child processes is not captured.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Callable

MAX_BYTES = 8 << 20
"""Per stream and run. More is dropped, and a last line says so."""

Listener = Callable[[int, str], None]
_listeners: list[Listener] = []
_wrapped: list[tuple[Any, Any]] = []
"""(stream, our replacement of its `write`)."""


def listen(listener: Listener) -> None:
    """Call the listener with (1 or 2, text) for everything that is printed from now on."""
    if listener not in _listeners:
        _listeners.append(listener)
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        if not any(known is stream for known, _ in _wrapped):
            _wrap(number, stream)


def stop(listener: Listener) -> None:
    """Remove the listener. The last one restores the streams."""
    with contextlib.suppress(ValueError):
        _listeners.remove(listener)
    if _listeners:
        return
    for stream, own in _wrapped:
        # if other code has wrapped it again, that wrapper stays; ours passes text on and records nothing
        with contextlib.suppress(Exception):  # a stream of other code may raise anything
            if vars(stream).get("write") is own:
                del stream.write
    _wrapped.clear()


def _wrap(number: int, stream: Any) -> None:
    if stream is None:
        return  # there is no console
    try:
        original = stream.write
    except Exception:  # something else than a stream
        return

    def write(text: str) -> Any:
        written = original(text)
        for listener in list(_listeners):
            listener(number, text)
        return written

    try:
        stream.write = write
        vars(stream)
    except Exception:  # an object without assignable attributes
        return
    _wrapped.append((stream, write))


class Bounded:
    """A listener that passes on at most MAX_BYTES of each stream, and nothing that is printed while it runs."""

    def __init__(self, add: Callable[[int, bytes], None]) -> None:
        self._add = add
        self._left = {1: MAX_BYTES, 2: MAX_BYTES}
        self._is_inside = False

    def __call__(self, number: int, text: str) -> None:
        left = self._left[number]
        if left <= 0 or self._is_inside:
            return
        self._is_inside = True
        try:
            if not text:
                return
            data = text.encode("utf-8", "backslashreplace") if isinstance(text, str) else bytes(text)
            self._left[number] = left - len(data)
            if len(data) >= left:
                data = data[:left] + b"\n[danlu: more output was not kept]\n"
            self._add(number, data)
        except Exception:
            self._left[number] = 0  # never break a print
        finally:
            self._is_inside = False
