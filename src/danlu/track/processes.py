"""Whether a process is still the one it was: a number alone says little, its start time and its machine do."""

from __future__ import annotations

import os
import select
import socket
import time
from typing import Any, NamedTuple, Optional


class Process(NamedTuple):
    host: str
    boot_id: str
    """Changes with every start of the machine; containers on one machine share it."""

    pid_space: str
    """Which set of process numbers: a container has one of its own."""

    pid: int
    started: int
    """Clock ticks after the machine's start, from /proc; 0 where there is none."""


def this_process() -> Process:
    pid = os.getpid()
    return Process(socket.gethostname(), _boot_id(), _pid_space(), pid, _start_ticks(pid) or 0)


def from_header(header: dict[str, Any]) -> Optional[Process]:
    """The process that a RUN frame describes; None when fields are missing."""
    about = header.get("environment") or {}
    try:
        place = str(about["host"]), str(about["boot_id"]), str(about["pid_space"])
        return Process(*place, int(about["pid"]), int(about["pid_started"]))
    except (KeyError, TypeError, ValueError):
        return None


def is_gone(process: Process) -> bool:
    """Whether it certainly ended. A process of another machine or container is never said to be gone."""
    if process.host != socket.gethostname():
        return False
    if process.boot_id != _boot_id():
        return True  # this machine was started anew since
    if process.pid_space != _pid_space():
        return False
    started = _start_ticks(process.pid)
    if started is None:
        return os.path.isdir("/proc/self")
    return process.started not in (0, started)


class Watch:
    """Waits for the end of a process that is no child. Use it in a `with`, or close it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._fd: Optional[int] = None
        opener = getattr(os, "pidfd_open", None)
        if opener is not None and not is_gone(process):
            try:
                self._fd = opener(process.pid)
            except OSError:  # an old kernel, or it ended this moment
                self._fd = None

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def descriptor(self) -> Optional[int]:
        """Can be read when the process has ended; None where the system has no such thing."""
        return self._fd

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def wait(self, seconds: float) -> bool:
        """Wait that long at most. Say whether the process is gone."""
        if is_gone(self._process):
            return True
        if self._fd is None:
            time.sleep(seconds)
        else:
            select.select([self._fd], [], [], seconds)
        return is_gone(self._process)


def _start_ticks(pid: int) -> Optional[int]:
    """When the process started; None when there is none, or only what is left of it (a zombie)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _pid_space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""
