"""Who starts now, where, who makes room, and why the others wait. Pure: no I/O, no clock, no randomness."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from danlu.launch import Placement
from danlu.scheduler.policy import sentences
from danlu.scheduler.policy.board import CLOCK_SLACK_SECONDS, Board, waits_of
from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.placing import make_placement
from danlu.scheduler.policy.queueing import Entry
from danlu.scheduler.policy.snapshot import Action, FreeNode, GiveUp, QueuedJob, Snapshot, Wait
from danlu.scheduler.ports import Ports
from danlu.spec.reasons import Reason, reason
from danlu.spec.units import show_duration


def decide(snapshot: Snapshot, now: datetime) -> list[Action]:
    """Answer for every queued job, in their order; then say who has to make room."""
    board = board_of(snapshot)
    answers: dict[str, Action] = {}
    for job in snapshot.queue:
        early = _not_yet(job, now)
        if early is not None:
            answers[job.id] = early
        else:
            board.queue.add(Entry(job))
    decision = board.serve(now)
    answers.update((start.job_id, start) for start in decision.starts)
    answers.update((entry.job.id, Wait(entry.job.id, why)) for entry, why in waits_of(board, decision))
    return [*(answers[job.id] for job in snapshot.queue), *decision.evictions]


def board_of(snapshot: Snapshot) -> Board:
    """The board with all that runs on it, and nothing that waits."""
    board = Board(snapshot.nodes, snapshot.quotas, snapshot.ports_in_use)
    for job in snapshot.running:
        board.add_running(job)
    return board


def next_deadline(snapshot: Snapshot, now: datetime) -> float:
    """Seconds until a job's pause ends or its patience does; infinite when no job has either ahead of it."""
    waits = [(job.not_before - now).total_seconds() for job in snapshot.queue if job.not_before is not None]
    waits += [
        job.spec.max_wait - (now - job.queued_at).total_seconds()
        for job in snapshot.queue
        if job.spec.max_wait is not None and job.attempt == 1
    ]
    # what is past was decided just now, and is no reason to look again
    return max(0.05, min((wait for wait in waits if wait > 0), default=float("inf")))


def place(job: QueuedJob, nodes: Sequence[FreeNode]) -> Placement | Reason:
    """Where the tasks of a job would go if it were alone with these nodes, or why they fit nowhere."""
    if not nodes:
        return reason("no_nodes")
    cluster = Cluster(nodes)
    taken = cluster.place(job.shape)
    if taken is not None:
        return make_placement(job.id, job.attempt, taken, Ports())
    return sentences.no_room(cluster, job.shape)


def _not_yet(job: QueuedJob, now: datetime) -> Action | None:
    waited = (now - job.queued_at).total_seconds()
    if job.attempt == 1 and job.spec.max_wait is not None and waited > job.spec.max_wait:
        told = f"waited {show_duration(waited)}, longer than its max_wait of {show_duration(job.spec.max_wait)}"
        return GiveUp(job.id, reason("queue_timeout", told))
    # queued in the future: the clock was set back since, and says nothing about when the pause is over
    was_set_back = waited < -CLOCK_SLACK_SECONDS
    if job.not_before is not None and now < job.not_before and not was_set_back:
        told = f"attempt {job.attempt - 1} failed; the next one starts at {job.not_before:%H:%M:%S} UTC"
        return Wait(job.id, reason("retry_wait", told))
    return None
