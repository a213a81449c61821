"""The files in which a shim records its state. They are plain files, and records survive a full disk.

lock         held (flock) while the shim lives
status.json  the current phase; its mtime is the heartbeat
exit.json    how the task ended; written once
log          output of the command
use          resource usage: see danlu.journal.usage
marks        (length of the log, time) about once a second; every line has MARK_WIDTH bytes
control      a FIFO that takes lines: stop SECONDS
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from typing import Any, Optional

LOCK, STATUS, EXIT, LOG, MARKS, CONTROL = "lock", "status.json", "exit.json", "log", "marks", "control"
TOKEN, STAGER_LOG, SHIM_LOG = "token", "stager.log", "shim.log"
FETCHED, IMAGE, ENVIRONMENT = "fetched.json", "image.json", "environment"
USE = "use"
START_LOCK = "start.lock"
MOUNTS = "mounts"
MARK_WIDTH = 39
RECORD_BYTES = 4096
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Records:
    """Writes records atomically, into blocks that were reserved while there was space."""

    def __init__(self, folder: str, *, num_reserved: int) -> None:
        """Raise OSError when there is no space for the reserve."""
        self._folder = folder
        self._spare = [self._reserve(number) for number in range(num_reserved)]

    def put(self, name: str, values: dict[str, Any], *, must_last: bool = False) -> bool:
        """Replace the record; return False when the disk is full. `must_last` also syncs it to disk."""
        text = json.dumps(values).encode()
        try:
            path = self._spare.pop() if self._spare and len(text) <= RECORD_BYTES else self._reserve(-1)
            with open(path, "r+b", buffering=0) as file:
                file.write(text.ljust(RECORD_BYTES))
                if must_last:
                    os.fsync(file.fileno())
            os.replace(path, os.path.join(self._folder, name))
            if must_last:
                _sync_folder(self._folder)
        except OSError as error:
            if error.errno in _NO_ROOM:
                return False
            raise
        return True

    def put_until_there_is_room(self, name: str, values: dict[str, Any]) -> None:
        while not self.put(name, values, must_last=True):
            time.sleep(1.0)

    def clear_reserve(self) -> None:
        for path in self._spare:
            with contextlib.suppress(FileNotFoundError):  # the whole folder may have been removed
                os.unlink(path)
        self._spare = []

    def _reserve(self, number: int) -> str:
        path = os.path.join(self._folder, f".reserve.{number}")
        with open(path, "wb", buffering=0) as file:
            # written, not fallocated: such blocks can be overwritten on a full disk
            if file.write(b" " * RECORD_BYTES) < RECORD_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return path


class Marks:
    """Appends time marks of the log. A full disk loses marks, nothing else."""

    def __init__(self, folder: str) -> None:
        self._file = os.open(os.path.join(folder, MARKS), os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._last = 0

    def add(self, length: int, now: float) -> None:
        """Record the length of the log if it grew since the last mark."""
        if length <= self._last:
            return
        line = f"{length:020d} {now:017.6f}\n".encode()
        try:
            written = os.write(self._file, line)
            if written < len(line):
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
                return
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            return
        self._last = length


def read_record(folder: str, name: str) -> Optional[dict[str, Any]]:
    """Return a record; None when it does not exist."""
    try:
        with open(os.path.join(folder, name), "rb") as file:
            found = json.loads(file.read())
    except FileNotFoundError:
        return None
    return found if isinstance(found, dict) else None


def take_lock(path: str, *, wait_seconds: float) -> Optional[int]:
    """Take the lock and return its descriptor; None when another process holds it for longer than the wait.

    `is_locked` holds the lock for a moment, so a single failure means nothing.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    give_up_at = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() >= give_up_at:
                os.close(descriptor)
                return None
            time.sleep(0.005)


def is_locked(path: str) -> bool:
    """Whether a living process holds the lock."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def boot_id() -> str:
    """Return an id that changes when the machine is restarted; empty when unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
