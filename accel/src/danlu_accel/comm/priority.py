"""Exchanging threads before computing ones: they are short, and the link waits for them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator


def prefer_this_thread(niceness: int) -> bool:
    """Change how this thread ranks beside others; False where the system does not allow it, or for 0."""
    if niceness == 0:
        return False
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
    except (OSError, AttributeError):  # no right to; or no such call
        return False
    return True


@contextlib.contextmanager
def preferred_children(niceness: int) -> Iterator[None]:
    """Let threads that are started meanwhile rank so: on Linux a thread inherits its maker's niceness."""
    thread = threading.get_native_id()
    before = os.getpriority(os.PRIO_PROCESS, thread)
    is_changed = prefer_this_thread(niceness)
    try:
        yield
    finally:
        if is_changed:
            os.setpriority(os.PRIO_PROCESS, thread, before)
