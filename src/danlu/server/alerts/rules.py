"""When something is wrong. Pure: what was seen goes in, what is wrong comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from danlu.spec.monitoring.alerts import AlertKind, Detail

BUSY = 0.05
"""Devices that work for a smaller part of the time are idle: a monitor that looks at them is not work."""

RELIEF = 0.95
"""An alert that is open stays until the value has fallen to this part of its limit: it does not flicker."""


@dataclass(frozen=True, slots=True)
class Limits:
    """From which point on something is wrong; 0 turns a rule off."""

    device_idle_seconds: float
    silent_seconds: float
    memory_share: float
    disk_share: float


@dataclass(frozen=True, slots=True)
class SeenTask:
    """A running task."""

    rank: int
    num_devices: int
    idle_seconds: float | None
    """How long its devices have done nothing; None when that is not measured."""

    memory_bytes: float | None
    memory_limit_bytes: int
    sign_at: datetime
    """Of its last line of log, or of its start."""


class OddLoss(NamedTuple):
    run: str
    metric: str
    value: str
    step: int


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A running job."""

    id: str
    attempt: int
    project_id: int
    tasks: Sequence[SeenTask]
    metric_at: datetime | None
    """Of the last point of its runs."""

    odd: Sequence[OddLoss] = ()


@dataclass(frozen=True, slots=True)
class SeenDisk:
    folder: str
    total_bytes: int
    free_bytes: int


class Key(NamedTuple):
    """Which alert it is: while it is open there is no other like it."""

    kind: AlertKind
    job_id: str | None
    attempt: int
    subject: str


@dataclass(frozen=True, slots=True)
class Finding:
    key: Key
    project_id: int | None
    details: Mapping[str, Detail]


def find_in_job(job: SeenJob, limits: Limits, *, now: datetime, is_open: frozenset[Key]) -> Iterator[Finding]:
    """What is wrong with a running job. `is_open`: the alerts that there are."""
    for task in job.tasks:
        if limits.device_idle_seconds and (task.idle_seconds or 0.0) >= limits.device_idle_seconds:
            idle = round(task.idle_seconds or 0.0)
            yield _finding(job, AlertKind.DEVICE_IDLE, str(task.rank), num_devices=task.num_devices, idle_seconds=idle)
        key = _key(job, AlertKind.MEMORY_HIGH, str(task.rank))
        if _is_high(task.memory_bytes, task.memory_limit_bytes, limits.memory_share, was=key in is_open):
            used = int(task.memory_bytes or 0)
            yield _finding(
                job, AlertKind.MEMORY_HIGH, key.subject, used_bytes=used, limit_bytes=task.memory_limit_bytes
            )
    yield from _silence(job, limits, now)
    for odd in job.odd:
        details: dict[str, Detail] = {"run": odd.run, "metric": odd.metric, "value": odd.value, "step": odd.step}
        subject = f"{odd.run}/{odd.metric}"[:100]
        yield Finding(_key(job, AlertKind.LOSS_NOT_FINITE, subject), job.project_id, details)


def find_in_disk(disk: SeenDisk, limits: Limits, *, is_open: frozenset[Key]) -> Iterator[Finding]:
    key = Key(AlertKind.DISK_FULL, None, 0, disk.folder)
    used = disk.total_bytes - disk.free_bytes
    if _is_high(used, disk.total_bytes, limits.disk_share, was=key in is_open):
        details: dict[str, Detail] = {
            "folder": disk.folder,
            "free_bytes": disk.free_bytes,
            "total_bytes": disk.total_bytes,
        }
        yield Finding(key, None, details)


def _silence(job: SeenJob, limits: Limits, now: datetime) -> Iterator[Finding]:
    """All tasks are silent: one that never writes is no sign of anything while another does."""
    if not limits.silent_seconds or not job.tasks:
        return
    signs = [task.sign_at for task in job.tasks] + ([] if job.metric_at is None else [job.metric_at])
    silent = (now - max(signs)).total_seconds()
    if silent >= limits.silent_seconds:
        first = min(job.tasks, key=lambda task: (task.sign_at, task.rank))
        details = {"rank": first.rank, "silent_seconds": round(silent)}
        yield Finding(_key(job, AlertKind.SILENT, ""), job.project_id, details)


def _is_high(used: float | None, limit: float, share: float, *, was: bool) -> bool:
    if used is None or not limit or not share:
        return False
    return used >= limit * share * (RELIEF if was else 1.0)


def _key(job: SeenJob, kind: AlertKind, subject: str) -> Key:
    return Key(kind, job.id, job.attempt, subject)


def _finding(job: SeenJob, kind: AlertKind, rank: str, **details: Detail) -> Finding:
    return Finding(_key(job, kind, rank), job.project_id, {"rank": int(rank), **details})
