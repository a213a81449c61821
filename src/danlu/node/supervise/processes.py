"""The processes of this machine or PID namespace, from /proc."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from typing import Callable


def descendants(ancestor: int, parents: dict[int, int]) -> list[int]:
    """Return the descendants of a process, given pid -> parent of all processes."""
    found, grew = {ancestor}, True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        found |= more
        grew = bool(more)
    return sorted(found - {ancestor})


def processes() -> dict[int, int]:
    """Return pid -> parent of the processes that have not ended."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state not in (b"Z", b"X"):
            found[int(name)] = int(parent)
    return found


def end_descendants(spared: Sequence[int], collect: Callable[[], None]) -> None:
    """Kill and reap all descendants except the spared ones, until none is left."""
    for _ in range(500):
        alive = [pid for pid in descendants(os.getpid(), processes()) if pid not in spared]
        if not alive:
            return
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        collect()
        time.sleep(0.005)


def process_name(pid: int) -> str:
    """Return the name that `ps` shows for a process; empty when it has ended."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""


def environment_of(pid: int) -> dict[str, str]:
    """Return the initial environment of a process; empty when it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [os.fsdecode(pair).partition("=") for pair in file.read().split(b"\0") if b"=" in pair]
    except OSError:
        return {}
    return {name: value for name, _, value in pairs}
