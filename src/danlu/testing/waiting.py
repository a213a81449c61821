"""How tests wait: for a condition, never for a time.

A limit in seconds would depend on the speed of the machine. The only one here ends a test that hangs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

HANG_SECONDS = 300.0
"""Timeout of a test that hangs: longer than any wait on a machine with ten times as many busy processes as cores."""

FIRST_PAUSE_SECONDS = 0.005
LONGEST_PAUSE_SECONDS = 0.1

Found = TypeVar("Found")


def wait_until(
    find: Callable[[], Found],
    describe: Callable[[], object] = lambda: "",
    *,
    longest_pause_seconds: float = LONGEST_PAUSE_SECONDS,
) -> Found:
    """Call `find` until it returns a true value, and return that. The pauses grow, so that a long wait is cheap.

    `describe` returns the actual state, for the error message.
    """
    hangs_at = time.monotonic() + HANG_SECONDS
    pause = min(FIRST_PAUSE_SECONDS, longest_pause_seconds)
    while not (found := find()):
        if time.monotonic() > hangs_at:
            raise AssertionError(f"still not true after {HANG_SECONDS:.0f} s: {describe()}")
        time.sleep(pause)
        pause = min(pause * 1.5, longest_pause_seconds)
    return found
