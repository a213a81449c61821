"""Who wants to know how far it is."""

from __future__ import annotations

from typing import Callable

Told = Callable[[str, int, bool], None]
"""Called with a file, a number of its bytes that are done now, and whether they had to travel. From any thread.

A negative number takes back what has to be moved again.
"""


def quiet(_file: str, _num_bytes: int, _has_travelled: bool) -> None:
    """A listener that does nothing."""
