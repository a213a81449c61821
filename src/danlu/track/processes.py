"""Identify a process by pid, start time and machine, because pids are reused."""

from __future__ import annotations

import os
import select
import socket
import time
from typing import Any, NamedTuple, Optional


class Process(NamedTuple):
    host: str
    boot_id: str
    """Changes when the machine restarts; containers on one machine share it."""

    pid_space: str
    """The PID namespace: a container has its own."""

    pid: int
    started: int
    """Start time in clock ticks since boot, from /proc; 0 when unknown."""


def this_process() -> Process:
    pid = os.getpid()
    return Process(socket.gethostname(), _boot_id(), _pid_space(), pid, _start_ticks(pid) or 0)


def from_header(header: dict[str, Any]) -> Optional[Process]:
    """Return the process in a RUN frame; None when fields are missing."""
    about = header.get("environment") or {}
    try:
        place = str(about["host"]), str(about["boot_id"]), str(about["pid_space"])
        return Process(*place, int(about["pid"]), int(about["pid_started"]))
    except (KeyError, TypeError, ValueError):
        return None


def is_gone(process: Process) -> bool:
    """Whether it has certainly ended. Never True for a process of another machine or container."""
    if process.host != socket.gethostname():
        return False
    if process.boot_id != _boot_id():
        return True  # this machine has restarted since
    if process.pid_space != _pid_space():
        return False
    started = _start_ticks(process.pid)
    if started is None:
        return os.path.isdir("/proc/self")
    return process.started not in (0, started)


class Watch:
    """Waits for the end of a process that is not a child. A context manager."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._fd: Optional[int] = None
        opener = getattr(os, "pidfd_open", None)
        if opener is not None and not is_gone(process):
            try:
                self._fd = opener(process.pid)
            except OSError:  # an old kernel, or it has just ended
                self._fd = None

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def descriptor(self) -> Optional[int]:
        """Becomes readable when the process ends; None when the system has no pidfd."""
        return self._fd

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def wait(self, seconds: float) -> bool:
        """Wait for at most `seconds`. Return whether the process has ended."""
        if is_gone(self._process):
            return True
        if self._fd is None:
            time.sleep(seconds)
        else:
            select.select([self._fd], [], [], seconds)
        return is_gone(self._process)


def _start_ticks(pid: int) -> Optional[int]:
    """Return the start time of a process; None when it has ended or is a zombie."""
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
