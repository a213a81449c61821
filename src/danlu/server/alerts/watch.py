"""Checks for alerts: load observations, apply the rules, store changes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone

from sqlalchemy.orm import Session

from danlu.server.alerts.rules import (
    BUSY,
    Finding,
    Key,
    Limits,
    OddLoss,
    SeenDisk,
    SeenJob,
    SeenTask,
    find_in_disk,
    find_in_job,
    is_idle_too_long,
)
from danlu.server.notices.mail import Told
from danlu.server.notices.telling import tell
from danlu.server.settings import ServerSettings
from danlu.server.state import ServerState
from danlu.server.uses.service import end_idle, last_use, limit_of
from danlu.spec.monitoring.alerts import AlertKind, alert_message
from danlu.spec.monitoring.events import EventKind
from danlu.spec.runs import SYSTEM
from danlu.spec.states import JobState, TaskState
from danlu.store.queries import attempts, jobs
from danlu.store.queries.gateway.uses import last_uses, note_uses
from danlu.store.queries.monitoring import alerts
from danlu.store.sql.monitoring_tables import AlertRow
from danlu.store.sql.tables import JobRow, TaskRow

FORGET_DAYS = 90
NOTED_SECONDS = 60.0
"""How often a busy job's last use is stored, at most."""


def limits_of(settings: ServerSettings) -> Limits:
    return Limits(
        device_idle_seconds=settings.alert_device_idle_minutes * 60,
        silent_seconds=settings.alert_silent_minutes * 60,
        memory_share=settings.alert_memory_share,
        disk_share=settings.alert_disk_share,
    )


def look(state: ServerState) -> None:
    """Open new alerts, close those that no longer apply, end idle jobs. Reads files; reads in one transaction, writes
    in others."""
    now, limits = state.now(), limits_of(state.settings)
    with state.database.reading() as session:
        opened = {_key_of(row): row.opened_at for row in alerts.open_alerts(session)}
        seen = seen_jobs(session, state, now)
    there, found = set(opened), dict[Key, Finding]()
    for job in seen:
        found.update({one.key: one for one in find_in_job(job, limits, now=now, is_open=frozenset(there))})
    for disk in seen_disks(state.settings):
        found.update({one.key: one for one in find_in_disk(disk, limits, is_open=frozenset(there))})
    worked = [(job.id, at) for job in seen if (at := job.used_at) is not None and _is_news(at, job.noted_at)]
    if worked:
        state.database.write(note_uses, worked)
    if set(found) != there:
        state.database.write(store, state, found)
    over = [(job.id, job.attempt) for job in seen if is_idle_too_long(job, now=now, warned=opened)]
    if over:
        state.database.write(end_idle, state, over)


def store(session: Session, state: ServerState, found: Mapping[Key, Finding]) -> None:
    """Open and close stored alerts to match the findings, and notify users of both."""
    now = state.now()
    there = {_key_of(row): row for row in alerts.open_alerts(session)}
    for key, row in there.items():
        if key not in found:
            alerts.close_alert(session, row, now)
            _tell(session, state, row, EventKind.ALERT_CLOSED)
    for key, finding in found.items():
        if key in there:
            continue
        job = None if key.job_id is None else jobs.get_job(session, key.job_id)
        if key.job_id is not None and (job is None or job.attempt != key.attempt):
            continue  # deleted or restarted meanwhile
        row = AlertRow(
            kind=key.kind.value,
            job_id=key.job_id,
            project_id=finding.project_id,
            attempt=key.attempt,
            subject=key.subject,
            details=dict(finding.details),
            message=alert_message(key.kind, finding.details),
            opened_at=now,
        )
        alerts.add_alert(session, row)
        _tell(session, state, row, EventKind.ALERT_OPENED)
    alerts.forget_alerts(session, now - timedelta(days=FORGET_DAYS))


def seen_jobs(session: Session, state: ServerState, now: datetime) -> list[SeenJob]:
    rows = jobs.in_state(session, JobState.RUNNING)
    ids = [row.id for row in rows]
    keys = [(row.id, row.attempt) for row in rows]
    tasks: dict[str, list[TaskRow]] = attempts.tasks_by_key(session, keys)
    begun = {job_id: attempt.started_at for job_id, attempt in attempts.attempts_by_key(session, keys).items()}
    metric_times = alerts.last_metric_times(session, ids, without=SYSTEM)
    used = last_uses(session, ids)
    odd: dict[str, list[OddLoss]] = {}
    for one in alerts.odd_losses(session, begun, without=SYSTEM):
        odd.setdefault(one.job_id, []).append(OddLoss(one.run, one.name, one.value, one.step))
    return [
        SeenJob(
            id=row.id,
            attempt=row.attempt,
            project_id=row.project_id,
            tasks=_seen_tasks(session, state, row, tasks.get(row.id, ()), now=now),
            metric_at=_moment(metric_times.get(row.id)),
            odd=odd.get(row.id, ()),
            idle_limit_seconds=limit_of(row, state.settings),
            noted_at=used.get(row.id),
            used_at=last_use(state, row, tasks.get(row.id, ()), known=used.get(row.id)),
        )
        for row in rows
    ]


def seen_disks(settings: ServerSettings) -> list[SeenDisk]:
    """The disks of the server's folders, each once."""
    found: dict[int, SeenDisk] = {}
    for folder in (settings.home, settings.work_dir):
        if folder.exists():
            size = shutil.disk_usage(folder)
            found.setdefault(folder.stat().st_dev, SeenDisk(str(folder)[:100], size.total, size.free))
    return list(found.values())


def _seen_tasks(
    session: Session, state: ServerState, job: JobRow, tasks: Sequence[TaskRow], *, now: datetime
) -> list[SeenTask]:
    return [
        _seen_task(session, state, job, task, now)
        for task in tasks
        if task.state == TaskState.RUNNING.value and task.started_at is not None
    ]


def _seen_task(session: Session, state: ServerState, job: JobRow, task: TaskRow, now: datetime) -> SeenTask:
    idle = None
    if task.device_ids:
        idle = state.usage.quiet_seconds(job.id, job.attempt, rank=task.rank, quantity="device", below=BUSY)
    logged_at = alerts.last_log_time(session, job.id, job.attempt, rank=task.rank)
    return SeenTask(
        rank=task.rank,
        num_devices=len(task.device_ids),
        idle_seconds=idle,
        memory_bytes=state.usage.last(job.id, job.attempt, task.rank).get("memory"),
        memory_limit_bytes=task.memory_bytes,
        sign_at=max(task.started_at or now, logged_at or job.created_at),
    )


def _is_news(used_at: datetime, noted_at: datetime | None) -> bool:
    return noted_at is None or used_at > noted_at + timedelta(seconds=NOTED_SECONDS)


def _tell(session: Session, state: ServerState, row: AlertRow, kind: EventKind) -> None:
    job = None if row.job_id is None else jobs.get_job(session, row.job_id)
    alert = {"kind": row.kind, "opened_at": row.opened_at.isoformat(), "details": row.details, "id": row.id}
    told = Told(kind=kind, job=job, message=row.message, alert_kind=AlertKind(row.kind), details=row.details)
    tell(session, state, told, data={"alert": {**alert, "message": row.message}})


def _key_of(row: AlertRow) -> Key:
    return Key(AlertKind(row.kind), row.job_id, row.attempt, row.subject)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)
