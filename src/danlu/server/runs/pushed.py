"""Metrics that are pushed to a job are stored in a run that belongs to the job."""

from __future__ import annotations

import base64
import hashlib
import math
import zlib
from collections.abc import Sequence

from sqlalchemy.orm import Session

from danlu import journal
from danlu.auth import rights
from danlu.auth.identity import Identity, JobIdentity
from danlu.errors import NotAllowed
from danlu.server.flow import recording as flow
from danlu.server.jobs.service import find as find_job
from danlu.server.state import ServerState
from danlu.spec.runs import RunState
from danlu.store.metrics.decode import clean
from danlu.store.queries import jobs, runs
from danlu.store.sql.run_tables import RunRow
from danlu.store.sql.tables import JobRow
from danlu.wire.runs import PushMetrics

JOURNAL = "pushed"
DEFAULT_TYPE = "train"


def own_run_id(job_id: str) -> str:
    """Always the same for a job."""
    digest = hashlib.sha256(f"own run of {job_id}".encode()).digest()[:16]
    return "run-" + base64.b32encode(digest).decode().rstrip("=").lower()


def own_run(session: Session, state: ServerState, who: Identity, job: str) -> RunRow:
    """The job's own run; created if needed."""
    row = _job(session, who, job)
    known = runs.own_run(session, row.id)
    if known is not None:
        return known
    now = state.now()
    made = RunRow(
        id=own_run_id(row.id),
        project_id=row.project_id,
        owner_id=row.owner_id,
        folder="",
        name=row.name,
        state=RunState.RUNNING.value,
        job_id=row.id,
        attempt=row.attempt or None,
        is_own=True,
        labels=[],
        hparams=clean(row.spec.get("hyperparameters") or {}),
        summary={},
        info={},
        set_at={},
        created_at=now,
        started_at=row.started_at or now,
        seen_at=now,
    )
    runs.add_run(session, made)
    flow.run_made(session, made, now)
    return made


def _job(session: Session, who: Identity, job: str) -> JobRow:
    if isinstance(who, JobIdentity):
        found = jobs.get_job(session, who.job_id) if job == who.job_id else None
        if found is None:
            raise NotAllowed(f"the token of {who.job_id} may push metrics to {who.job_id} only")
        return found
    row = find_job(session, who, job)
    if not rights.can_change_job(who, project_id=row.project_id, owner_id=row.owner_id):
        raise NotAllowed(f"you may not change {row.id}; ask its owner or an owner of its project")
    return row


def head(row: RunRow, now: float, *, name: str, is_first: bool) -> list[bytes]:
    """The beginning of a journal with this name."""
    if not is_first:
        return []
    header = {"run": row.id, "name": row.name, "created_at": now, "job": row.job_id, "branch": 1, "writer": "process"}
    seed = row.id if name == JOURNAL else f"{row.id}/{name}"
    return [
        journal.file_header(hashlib.md5(seed.encode(), usedforsecurity=False).hexdigest()),
        journal.encode_run(header),
    ]


def frames(metrics: Sequence[PushMetrics], *, after_step: int | None, now: float) -> list[bytes]:
    """The frames of these metrics; a metric without a step gets the next one."""
    step = -1 if after_step is None else after_step
    found: list[bytes] = []
    for one in metrics:
        step = step + 1 if one.step is None else one.step
        found += _frames(one, step=step, now=now)
    return found


def _frames(one: PushMetrics, *, step: int, now: float) -> list[bytes]:
    at = now if one.timestamp is None else one.timestamp
    epoch = math.nan if one.epoch is None else one.epoch
    by_type: dict[str, dict[str, float]] = {}
    for name, value in one.values.items():
        type_, slash, rest = clean(name).partition("/")
        by_type.setdefault(type_ if slash and rest else DEFAULT_TYPE, {})[rest if slash and rest else clean(name)] = (
            value
        )
    frames = []
    for type_, values in by_type.items():
        names = tuple(values)
        # the same names have the same number, so that declaring it again changes nothing
        number = zlib.crc32(repr((type_, names)).encode()) & 0x7FFFFFFF
        packed = journal.row_struct(len(names)).pack(step, at, epoch, *values.values())
        frames += [journal.encode_layout(journal.Layout(number, type_, names)), journal.encode_points(number, [packed])]
    if one.total_steps is not None:
        frames.append(journal.encode_value("total_steps", one.total_steps, time=at))
    return frames
