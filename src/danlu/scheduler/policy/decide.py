"""Decide which jobs start and where, which are preempted, and why the others wait. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from danlu.launch import Placement
from danlu.scheduler.policy import waiting_reasons
from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.placing import make_placement
from danlu.scheduler.policy.queueing import Entry
from danlu.scheduler.policy.snapshot import Action, FreeNode, GiveUp, QueuedJob, Snapshot, Wait
from danlu.scheduler.policy.state import CLOCK_SLACK_SECONDS, SchedulingState, waits_of
from danlu.scheduler.ports import Ports
from danlu.spec.messages.catalogue import say
from danlu.spec.reasons import Reason, reason
from danlu.spec.units import show_duration


def decide(snapshot: Snapshot, now: datetime, state: SchedulingState | None = None) -> list[Action]:
    """Return one action per queued job, in queue order, followed by the evictions.

    `state`: all running jobs and an empty queue, if the caller keeps it. Jobs that start are added to it.
    """
    state = state or make_state(snapshot)
    answers: dict[str, Action] = {}
    for job in snapshot.queue:
        early = _not_yet(job, now)
        if early is not None:
            answers[job.id] = early
        else:
            state.queue.add(Entry(job))
    decision = state.serve(now)
    answers.update((start.job_id, start) for start in decision.starts)
    answers.update((entry.job.id, Wait(entry.job.id, why)) for entry, why in waits_of(state, decision))
    return [*(answers[job.id] for job in snapshot.queue), *decision.evictions]


def make_state(snapshot: Snapshot) -> SchedulingState:
    """The state with all running jobs and an empty queue."""
    state = SchedulingState(snapshot.nodes, snapshot.quotas, snapshot.ports_in_use)
    for job in snapshot.running:
        state.add_running(job)
    return state


def next_deadline(snapshot: Snapshot, now: datetime) -> float:
    """Seconds until the next retry is due or the next max_wait is over; infinite when there is none."""
    waits = [(job.not_before - now).total_seconds() for job in snapshot.queue if job.not_before is not None]
    waits += [
        job.spec.max_wait - (now - job.queued_at).total_seconds()
        for job in snapshot.queue
        if job.spec.max_wait is not None and job.attempt == 1
    ]
    # deadlines that have passed were handled in this round
    return max(0.05, min((wait for wait in waits if wait > 0), default=float("inf")))


def place(job: QueuedJob, nodes: Sequence[FreeNode]) -> Placement | Reason:
    """Where the tasks of a job would run if it were the only one in the queue, or why they do not fit."""
    if not nodes:
        return reason("no_nodes")
    cluster = Cluster(nodes)
    allocations = cluster.place(job.shape)
    if allocations is not None:
        return make_placement(job.id, job.attempt, allocations, Ports())
    return waiting_reasons.no_room(cluster, job.shape)


def _not_yet(job: QueuedJob, now: datetime) -> Action | None:
    waited = (now - job.queued_at).total_seconds()
    if job.attempt == 1 and job.spec.max_wait is not None and waited > job.spec.max_wait:
        told = say("waited_too_long", time=show_duration(waited), time_limit=show_duration(job.spec.max_wait))
        return GiveUp(job.id, reason("queue_timeout", told))
    # queued in the future: the clock was set back, so the pause cannot be measured
    was_set_back = waited < -CLOCK_SLACK_SECONDS
    if job.not_before is not None and now < job.not_before and not was_set_back:
        told = say("retry_at", attempt=job.attempt - 1, clock=f"{job.not_before:%H:%M:%S}")
        return Wait(job.id, reason("retry_wait", told))
    return None
