"""The current state of a task, read from its folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

from danlu.engines.base import Handle, LogMark, Observation
from danlu.engines.local.folders import GangFolder, TaskFolder
from danlu.node.supervise.records import EXIT, LOCK, LOG, MARK_WIDTH, MARKS, STATUS, boot_id, is_locked, read_record
from danlu.spec.states import TaskState

PHASES = {
    "starting": TaskState.STARTING,
    "staging": TaskState.STAGING,
    "running": TaskState.RUNNING,
    "uploading": TaskState.UPLOADING,
}

MARK_SECONDS = 1.0
"""How often the shim marks the log."""


class Observer:
    """Reads a file again only after it changed. Holds nothing but a cache."""

    def __init__(self, work_dir: Path) -> None:
        self._work_dir = work_dir
        self._ended: dict[Handle, Observation] = {}
        self._status: dict[Path, tuple[tuple[int, int], dict[str, Any]]] = {}

    def observe(self, handle: Handle) -> Observation:
        if handle in self._ended:
            return self._ended[handle]
        folder = TaskFolder.of(self._work_dir, handle)
        over = self._read_end(handle, folder)
        if over is not None:
            return over
        if not is_locked(str(folder.path / LOCK)):
            # the task may have ended since the first look; only now does a missing record prove anything
            return self._read_end(handle, folder) or self._without_shim(handle, folder)
        status = self._read_status(folder)
        return Observation(
            state=PHASES.get(str(status.get("phase")), TaskState.STARTING),
            started_at=status.get("started_at"),
            ended_at=status.get("ended_at"),
            log_bytes=_end_of_log(folder).offset,
        )

    def forget(self, job_id: str, attempt: int) -> None:
        gang = GangFolder.of(self._work_dir, job_id, attempt=attempt).path
        self._ended = {
            handle: seen for handle, seen in self._ended.items() if (handle.job_id, handle.attempt) != (job_id, attempt)
        }
        self._status = {path: seen for path, seen in self._status.items() if path.parent != gang}

    def _read_end(self, handle: Handle, folder: TaskFolder) -> Observation | None:
        record = read_record(str(folder.path), EXIT)
        if record is None:
            return None
        self._status.pop(folder.path, None)
        self._ended[handle] = Observation(
            state=TaskState(record["state"]),
            exit_code=record["exit_code"],
            reason=record["reason"],
            message=record["message"],
            started_at=record["started_at"],
            ended_at=record["ended_at"],
            is_output_complete=record["is_output_complete"],
            log_bytes=record["log_bytes"],
        )
        return self._ended[handle]

    def _read_status(self, folder: TaskFolder) -> dict[str, Any]:
        """The shim replaces the file when the phase changes; a heartbeat only updates its timestamps."""
        try:
            found = os.stat(folder.path / STATUS)
        except FileNotFoundError:
            return {}
        # some FUSE file systems report inode 0 for every file; read it after each heartbeat there
        seen = (found.st_ino, 0 if found.st_ino else found.st_ctime_ns)
        cached = self._status.get(folder.path)
        if cached is not None and cached[0] == seen:
            return cached[1]
        status = read_record(str(folder.path), STATUS) or {}
        self._status[folder.path] = (seen, status)
        return status

    def _without_shim(self, handle: Handle, folder: TaskFolder) -> Observation:
        if not folder.path.is_dir():
            return Observation(state=TaskState.LOST, reason="lost", message="the node has no folder of this task")
        status = read_record(str(folder.path), STATUS)
        gang = GangFolder.of(self._work_dir, handle.job_id, attempt=handle.attempt)
        if status is None and is_locked(str(gang.start_lock)):
            return Observation(state=TaskState.STARTING)
        if status is None:
            message = "the task was prepared, but its supervisor process did not start"
        elif status["boot_id"] != boot_id():
            message = "the machine was restarted while the task ran"
        else:
            message = "the supervisor process of the task was killed"
        return Observation(
            state=TaskState.LOST,
            reason="lost",
            message=message,
            started_at=(status or {}).get("started_at"),
            log_bytes=_end_of_log(folder).offset,
        )


def read_log(folder: TaskFolder, *, offset: int, limit: int) -> bytes:
    try:
        with open(folder.path / LOG, "rb", buffering=0) as file:
            file.seek(offset)
            return file.read(limit)
    except FileNotFoundError:
        return b""


def read_marks(folder: TaskFolder, offset: int) -> list[LogMark]:
    """Return the shim's marks, plus one for an end of the log that the shim has not marked yet (it looks once a
    second).

    Without it, a log copied between its last byte and the shim's next look would have no times.
    """
    try:
        with open(folder.path / MARKS, "rb") as file:
            low, high = 0, os.fstat(file.fileno()).st_size // MARK_WIDTH
            while low < high:
                middle = (low + high) // 2
                if _mark_at(file, middle).offset > offset:
                    high = middle
                else:
                    low = middle + 1
            before = _mark_at(file, low - 1) if low else None
            file.seek(low * MARK_WIDTH)
            rest = file.read()
    except FileNotFoundError:
        before, rest = None, b""
    whole = len(rest) - len(rest) % MARK_WIDTH
    found = [_mark(rest[at : at + MARK_WIDTH]) for at in range(0, whole, MARK_WIDTH)]
    end = _end_of_log(folder)
    last = found[-1] if found else before
    # one mark per second is enough: an end that is close to the last mark gets none of its own
    if end.offset > offset and (last is None or (end.offset > last.offset and end.at > last.at + MARK_SECONDS)):
        found.append(end)
    return found


def _mark_at(file: BinaryIO, number: int) -> LogMark:
    """Read one mark. All have the same width, and their offsets increase."""
    file.seek(number * MARK_WIDTH)
    return _mark(file.read(MARK_WIDTH))


def _end_of_log(folder: TaskFolder) -> LogMark:
    """Return the length of the log and its modification time."""
    try:
        found = os.stat(folder.path / LOG)
    except FileNotFoundError:
        return LogMark(offset=0, at=0.0)
    return LogMark(offset=found.st_size, at=found.st_mtime)


def _mark(line: bytes) -> LogMark:
    offset, at = line.split()
    return LogMark(offset=int(offset), at=float(at))
