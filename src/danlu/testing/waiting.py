"""How tests wait: until something is true, never until time has passed.

A limit in seconds measures the machine that the test runs on. The only one here ends a test that hangs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

HANG_SECONDS = 900.0
"""More than anything takes on a machine with ten times as much work as it has cores: whoever waits longer hangs."""

FIRST_PAUSE_SECONDS = 0.005
LONGEST_PAUSE_SECONDS = 0.1

Found = TypeVar("Found")


def wait_until(
    find: Callable[[], Found],
    describe: Callable[[], object] = lambda: "",
    *,
    longest_pause_seconds: float = LONGEST_PAUSE_SECONDS,
) -> Found:
    """Call `find` until it returns something true, and return that. The pauses grow, so that a long wait is cheap.

    `describe` says what is there instead, for the test that hangs.
    """
    hangs_at = time.monotonic() + HANG_SECONDS
    pause = min(FIRST_PAUSE_SECONDS, longest_pause_seconds)
    while not (found := find()):
        if time.monotonic() > hangs_at:
            raise AssertionError(f"still not true after {HANG_SECONDS:.0f} s: {describe()}")
        time.sleep(pause)
        pause = min(pause * 1.5, longest_pause_seconds)
    return found
