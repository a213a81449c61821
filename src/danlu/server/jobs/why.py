"""Why a job waits, computed on request by the policy."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from danlu.scheduler.loading import load_running, queued_job
from danlu.scheduler.policy.decide import make_state
from danlu.scheduler.policy.queueing import Entry
from danlu.scheduler.policy.waiting_reasons import amount
from danlu.scheduler.policy.why import Why, explain
from danlu.scheduler.running import RunningJobs
from danlu.scheduler.specs import SpecCache
from danlu.server.nodes.known import KnownNodes
from danlu.spec.job import stored_job
from danlu.spec.messages.catalogue import recognise, say
from danlu.spec.reasons import CATALOGUE, Reason
from danlu.spec.states import JobState
from danlu.spec.units import show_duration
from danlu.store.queries import jobs
from danlu.store.sql.tables import JobRow
from danlu.wire.why import AmountOut, EstimateOut, LimitOut, WhyOut

MAX_NAMED = 10
_BASIS = "the time limits of the jobs that run now; jobs ahead of it, or new ones, may take the room first"


def why(session: Session, row: JobRow, *, known: KnownNodes, now: datetime) -> WhyOut:
    """Explain why a job waits; for other jobs, the reason of their state."""
    said = Reason(code=row.reason_code, message=row.reason_message)
    state = JobState(row.state)
    if state is not JobState.QUEUED:
        remedy = CATALOGUE[said.code].remedy if said.code in CATALOGUE else ""
        return WhyOut(
            job=row.id,
            state=state,
            reason=said,
            sentence=f"{row.id} is {row.state}: {said.message}",
            said=[recognise(said.message)],
            would_help=[remedy] if remedy else [],
        )
    infos = {info.name: info for info in known.all(session)}
    waiting = jobs.QueueRow(*(getattr(row, name) for name in jobs.QueueRow._fields))
    running = RunningJobs().load(session, infos, SpecCache())
    snapshot = load_running(session, infos, running, queue=(queued_job(waiting, stored_job(row.spec)),))
    scheduling = make_state(snapshot)
    found = explain(scheduling, Entry(snapshot.queue[0]), now)
    num_ahead, ahead = jobs.ahead_of(session, row, MAX_NAMED)
    mine = scheduling.holdings.share(row.project_id)
    others = [other for other in jobs.projects_waiting(session) if other != row.project_id]
    num_projects = sum(1 for other in others if scheduling.holdings.share(other) < mine)
    details = _details(found, num_ahead, num_projects, now)
    return WhyOut(
        job=row.id,
        state=state,
        reason=said,
        sentence="; ".join([f"{row.id} waits: {said.message}", *details]),
        said=[recognise(text) for text in (said.message, *details)],
        resources=[
            AmountOut(resource=item.resource, asked=item.asked, free=item.free, total=item.total)
            for item in found.resources
        ],
        num_tasks=found.num_tasks,
        num_places=found.num_places,
        num_ahead=num_ahead,
        ahead=ahead,
        num_projects_ahead=num_projects,
        limit=None if found.limit is None else LimitOut(**found.limit._asdict()),
        estimate=None if found.ready_at is None else EstimateOut(starts_at=found.ready_at, basis=_BASIS),
        would_help=list(found.would_help),
        would_help_said=[recognise(text) for text in found.would_help],
    )


def _details(found: Why, num_ahead: int, num_projects: int, now: datetime) -> list[str]:
    parts = []
    if found.limit is not None:
        used, quota = amount(found.limit.resource, found.limit.used), f"{found.limit.quota:g}"
        parts.append(say("quota_in_use", scope=found.limit.scope, used=used, quota=quota))
    free = ", ".join(f"{amount(item.resource, item.free)}" for item in found.resources)
    if free:
        parts.append(say("free_now", amounts=free))
    parts.append(say("places", places=found.num_places, tasks=found.num_tasks))
    if num_ahead:
        parts.append(say("jobs_ahead", count=num_ahead))
    if num_projects:
        parts.append(say("projects_ahead", count=num_projects))
    if found.ready_at is not None and found.num_places < found.num_tasks:
        parts.append(say("room_in", time=show_duration((found.ready_at - now).total_seconds())))
    return parts
