"""Watches the disk usage of a task from its shim. A separate process measures it (`disk.py`).

Measuring many files is expensive, so it is done at intervals, and immediately when the disk has lost more free space
than the task had left: before that it cannot be over its limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from typing import Optional

from danlu.node.task import TaskLimits

LOOK_SECONDS = 60.0
SOONEST_SECONDS = 2.0
DUTY = 10
"""Each measurement is followed by a pause of this many times its duration."""

DEFAULT_SHARE = 0.9
"""Share of the free space when the task starts."""

ANSWER_BYTES = 4096


class DiskWatch:
    def __init__(self, folder: str, limits: TaskLimits, *, uid: Optional[int]) -> None:
        self._folder = folder
        self._limits = limits
        self._uid = uid
        self.max_bytes = limits.max_disk_bytes or int(_free(folder) * DEFAULT_SHARE)
        self.pid = 0
        """Of the running measurement; 0: none."""

        self._answer = -1
        self._kept_before: Optional[int] = None
        self._left_bytes, self._free_bytes = self.max_bytes, _free(folder)
        self._began_at = self._soonest_at = 0.0
        # what kept folders held before must be known early: only additions count
        self._next_at = time.monotonic() + (0.0 if limits.kept_folders else LOOK_SECONDS)

    def look(self) -> None:
        """Start a measurement if it is due."""
        now = time.monotonic()
        if self.pid or not self._limits.disk_reader or now < self._soonest_at:
            return
        if now >= self._next_at or self._free_bytes - _free(self._folder) >= self._left_bytes:
            self._begin(now)

    def reaped(self, pid: int) -> str:
        """Handle the end of a child of the shim. Return the problem, if it was the measurement and found one."""
        if pid != self.pid:
            return ""
        self.pid = 0
        answer = os.read(self._answer, ANSWER_BYTES)
        os.close(self._answer)
        now = time.monotonic()
        self._soonest_at = now + max(SOONEST_SECONDS, DUTY * (now - self._began_at))
        self._next_at = max(self._soonest_at, now + LOOK_SECONDS)
        return self._judge(answer)

    def stop(self) -> None:
        """Kill a running measurement."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _judge(self, answer: bytes) -> str:
        if not answer:  # it was killed, for example because memory is short
            return ""
        found = json.loads(answer)
        if found["problem"]:
            return f"the disk usage of the task cannot be measured: {found['problem']}"
        if self._kept_before is None:
            self._kept_before = found["kept"]
        held = found["own"] + max(0, found["kept"] - self._kept_before)
        self._left_bytes = self.max_bytes - held
        if self._left_bytes >= 0:
            return ""
        return (
            f"the task uses {held / 2**20:.0f} MiB of disk space, and its limit is {self.max_bytes / 2**20:.0f} MiB; "
            f"write less, remove old checkpoints, or ask an admin for a higher max_disk_bytes"
        )

    def _begin(self, now: float) -> None:
        uid = "" if self._uid is None else str(self._uid)
        argv = [*self._limits.disk_reader, uid, self._folder, *self._limits.kept_folders]
        answer, write = os.pipe2(os.O_CLOEXEC)
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, write, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        try:
            self.pid = os.posix_spawn(argv[0], argv, dict(os.environ), file_actions=files, setsid=True)
        except OSError:  # no process can be started now
            os.close(answer)
            self._soonest_at = now + LOOK_SECONDS
            return
        finally:
            os.close(write)
        self._answer, self._began_at, self._free_bytes = answer, now, _free(self._folder)


def _free(folder: str) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
