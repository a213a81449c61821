"""Jobs that end when they are idle. No HTTP, no SQL, no commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from danlu.server.settings import ServerSettings
from danlu.server.state import ServerState
from danlu.spec.messages.catalogue import say
from danlu.spec.reasons import reason
from danlu.spec.states import Desired, JobState
from danlu.spec.units import show_duration
from danlu.store.queries import jobs
from danlu.store.sql.tables import JobRow, TaskRow

QUIET = {"cpu": 0.2, "device": 0.05, "received": 100_000.0}
"""A task is idle below these: cores, utilization of its devices, bytes received per second."""

REACH_SECONDS = 3600.0
"""Measurements reach back at least this far. Earlier activity is in the database."""


def limit_of(row: JobRow, settings: ServerSettings) -> float:
    """In seconds; 0: the job does not end by itself."""
    given = row.spec.get("idle_limit")
    if given is not None:
        return float(given)
    return settings.debug_idle_minutes * 60 if row.spec.get("debug") else 0.0


def last_use(state: ServerState, row: JobRow, tasks: Sequence[TaskRow], *, known: datetime | None) -> datetime | None:
    """When it was last used or busy, or started. None before its start, or without an idle limit."""
    started = [task.started_at for task in tasks if task.started_at is not None]
    if not started or not limit_of(row, state.settings):
        return None
    quiet = _quiet_seconds(state, row, tasks)
    worked = [] if quiet is None else [state.now() - timedelta(seconds=quiet)]
    return max([*started, *worked, *([] if known is None else [known])])


def end_idle(session: Session, state: ServerState, ids: Sequence[tuple[str, int]]) -> None:
    """Stop jobs that have reached their idle limit. `ids`: with the attempt that was checked."""
    for job_id, attempt in ids:
        row = jobs.get_job(session, job_id)
        if row is None or (row.attempt, row.state, row.desired) != (attempt, JobState.RUNNING.value, Desired.RUN.value):
            continue
        limit = show_duration(limit_of(row, state.settings))
        told = say("idle", time=limit)
        if jobs.move_job(session, row, JobState.RUNNING, reason("idle_limit", told), desired=Desired.STOP.value):
            jobs.add_event(session, row.id, row.attempt, kind="stop", message=told, at=state.now())


def _quiet_seconds(state: ServerState, row: JobRow, tasks: Sequence[TaskRow]) -> float | None:
    """How long all of its tasks have been idle; None when unknown, or longer than measurements reach back."""
    found = [
        state.usage.quiet_seconds(row.id, row.attempt, rank=task.rank, quantity=quantity, below=below)
        for task in tasks
        for quantity, below in QUIET.items()
    ]
    shortest = min((seconds for seconds in found if seconds is not None), default=None)
    return None if shortest is None or shortest > REACH_SECONDS else shortest
