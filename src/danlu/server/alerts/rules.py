"""The rules of alerts. Pure: observations in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from danlu.spec.monitoring.alerts import AlertKind, Detail

BUSY = 0.05
"""Devices with a lower utilization are idle: being monitored alone does not count as use."""

MAX_WARNING_SECONDS = 600.0
"""How long before its end an idle job gets an alert; a quarter of its limit, if that is shorter."""

RELIEF = 0.95
"""An open alert stays open until the value has fallen to this part of its limit, so that it does not flicker."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds of the rules; 0 disables a rule."""

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
    """How long its devices have been idle; None when that is not measured."""

    memory_bytes: float | None
    memory_limit_bytes: int
    sign_at: datetime
    """Time of its last log line, or of its start."""


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
    """Time of the last point of its runs."""

    odd: Sequence[OddLoss] = ()
    idle_limit_seconds: float = 0.0
    """The job ends when it was not used for this long; 0: it does not."""

    used_at: datetime | None = None
    """When a user last used it, when it was last busy, or its start. None without a limit."""

    noted_at: datetime | None = None
    """`used_at` as stored in the database."""


@dataclass(frozen=True, slots=True)
class SeenDisk:
    folder: str
    total_bytes: int
    free_bytes: int


class Key(NamedTuple):
    """Identifies an alert: at most one alert with this key is open."""

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
    """Findings about a running job. `is_open`: alerts that are open."""
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
    yield from _idleness(job, now)
    for odd in job.odd:
        details: dict[str, Detail] = {"run": odd.run, "metric": odd.metric, "value": odd.value, "step": odd.step}
        subject = f"{odd.run}/{odd.metric}"[:100]
        yield Finding(_key(job, AlertKind.LOSS_NOT_FINITE, subject), job.project_id, details)


def is_idle_too_long(job: SeenJob, *, now: datetime, warned: Mapping[Key, datetime]) -> bool:
    """Whether the job must end. `warned`: when each open alert was opened. A job ends only if its owner was warned in
    time."""
    if not job.idle_limit_seconds or job.used_at is None:
        return False
    warned_at = warned.get(_key(job, AlertKind.ENDS_IDLE, ""))
    idle, told = (now - job.used_at).total_seconds(), 0.0 if warned_at is None else (now - warned_at).total_seconds()
    return warned_at is not None and idle >= job.idle_limit_seconds and told >= _warning_seconds(job)


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
    """Only when all tasks are silent: some tasks of a job may never print anything."""
    if not limits.silent_seconds or not job.tasks:
        return
    signs = [task.sign_at for task in job.tasks] + ([] if job.metric_at is None else [job.metric_at])
    silent = (now - max(signs)).total_seconds()
    if silent >= limits.silent_seconds:
        first = min(job.tasks, key=lambda task: (task.sign_at, task.rank))
        details = {"rank": first.rank, "silent_seconds": round(silent)}
        yield Finding(_key(job, AlertKind.SILENT, ""), job.project_id, details)


def _idleness(job: SeenJob, now: datetime) -> Iterator[Finding]:
    if not job.idle_limit_seconds or job.used_at is None:
        return
    idle = (now - job.used_at).total_seconds()
    if idle >= job.idle_limit_seconds - _warning_seconds(job):
        left = max(job.idle_limit_seconds - idle, _warning_seconds(job))
        details = {"idle_seconds": round(idle), "left_seconds": round(left)}
        yield Finding(_key(job, AlertKind.ENDS_IDLE, ""), job.project_id, details)


def _warning_seconds(job: SeenJob) -> float:
    return min(MAX_WARNING_SECONDS, job.idle_limit_seconds / 4)


def _is_high(used: float | None, limit: float, share: float, *, was: bool) -> bool:
    if used is None or not limit or not share:
        return False
    return used >= limit * share * (RELIEF if was else 1.0)


def _key(job: SeenJob, kind: AlertKind, subject: str) -> Key:
    return Key(kind, job.id, job.attempt, subject)


def _finding(job: SeenJob, kind: AlertKind, rank: str, **details: Detail) -> Finding:
    return Finding(_key(job, kind, rank), job.project_id, {"rank": int(rank), **details})
