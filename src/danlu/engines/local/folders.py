"""Where the files of a task lie, and how they are laid out before its shim starts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from danlu.engines.base import Handle
from danlu.node.supervise.records import MOUNTS


class GangFolder(NamedTuple):
    """The folder of one attempt."""

    path: Path

    @classmethod
    def of(cls, work_dir: Path, job_id: str, *, attempt: int) -> GangFolder:
        return cls(work_dir / job_id / str(attempt))

    @property
    def start_lock(self) -> Path:
        """Held while tasks are being started, by the server or by what it started."""
        return self.path / "start.lock"

    def task(self, rank: int) -> TaskFolder:
        return TaskFolder(self.path / str(rank))

    def tasks(self) -> list[TaskFolder]:
        """The tasks that were prepared."""
        if not self.path.is_dir():
            return []
        return [TaskFolder(child) for child in sorted(self.path.iterdir()) if child.name.isdigit()]


class TaskFolder(NamedTuple):
    """The folder of one task. `node/supervise/records.py` names the files that its shim writes."""

    path: Path

    @classmethod
    def of(cls, work_dir: Path, handle: Handle) -> TaskFolder:
        return GangFolder.of(work_dir, handle.job_id, attempt=handle.attempt).task(handle.rank)

    @property
    def ml(self) -> Path:
        """What the task sees as /opt/ml, and without a sandbox where it is."""
        return self.path / "ml"

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def tmp(self) -> Path:
        """For temporary files where there is no sandbox with a /tmp of its own."""
        return self.path / "tmp"

    @property
    def etc(self) -> Path:
        return self.path / "etc"

    @property
    def mounts(self) -> Path:
        """Inputs whose path in the task is outside of /opt/ml."""
        return self.path / MOUNTS
