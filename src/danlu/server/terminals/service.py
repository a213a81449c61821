"""Who may enter which task. No HTTP, no SQL, no commit."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.errors import WrongState
from danlu.gateway.tasks import Task
from danlu.server.audit.service import record_action
from danlu.server.jobs.service import find_to_change
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.states import JobState, is_over
from danlu.store.queries import attempts


class Entrance(NamedTuple):
    engine: str
    task: Task


def enter(session: Session, state: ServerState, who: UserIdentity, job: str, rank: int) -> Entrance:
    """Find the task, and note who goes in. Whoever may stop a job may enter it."""
    row = find_to_change(session, who, job)
    if is_over(JobState(row.state)):
        raise WrongState(f"{row.id} is {row.state}; a shell can be opened while it is running")
    tasks = attempts.tasks_by_key(session, [(row.id, row.attempt)]).get(row.id, [])
    node = next((task.node for task in tasks if task.rank == rank), None)
    if node is None:
        told = f"ranks 0 to {len(tasks) - 1}" if tasks else "no task yet"
        raise WrongState(f"{row.id} has no task {rank}: it has {told}")
    record_action(session, who, Action.JOB_ENTER, f"job/{row.id}", at=state.now(), project_id=row.project_id, rank=rank)
    return Entrance(row.engine, Task(row.id, row.attempt, rank, node))
