"""Paths of a task's files and folders."""

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
        """Held while the tasks are started, by the server or by a process that it started."""
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
        """The task's /opt/ml; without a sandbox, the task sees it at this path."""
        return self.path / "ml"

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def tmp(self) -> Path:
        """Temporary files of tasks without a sandbox; in a sandbox /tmp is private."""
        return self.path / "tmp"

    @property
    def etc(self) -> Path:
        return self.path / "etc"

    @property
    def mounts(self) -> Path:
        """Inputs whose path in the task is outside /opt/ml."""
        return self.path / MOUNTS
