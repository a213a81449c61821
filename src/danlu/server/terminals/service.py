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
from danlu.store.sql.tables import JobRow


class Entrance(NamedTuple):
    engine: str
    task: Task
    project_id: int


def enter(session: Session, state: ServerState, who: UserIdentity, job: str, rank: int) -> Entrance:
    """Find the task, and record that the user enters it."""
    found = find_task(session, who, job, rank)
    target = f"job/{found.task.job_id}"
    record_action(session, who, Action.JOB_ENTER, target, at=state.now(), project_id=found.project_id, rank=rank)
    return found


def find_task(session: Session, who: UserIdentity, job: str, rank: int) -> Entrance:
    """Find a task; users who may stop its job may enter it. Raise WrongState when it does not run."""
    return task_of(session, find_to_change(session, who, job), rank)


def task_of(session: Session, row: JobRow, rank: int) -> Entrance:
    """Raise WrongState when there is no such task now."""
    if is_over(JobState(row.state)):
        raise WrongState(f"{row.id} is {row.state}; a shell can be opened while it is running")
    tasks = attempts.tasks_by_key(session, [(row.id, row.attempt)]).get(row.id, [])
    node = next((task.node for task in tasks if task.rank == rank), None)
    if node is None:
        told = f"ranks 0 to {len(tasks) - 1}" if tasks else "no task yet"
        raise WrongState(f"{row.id} has no task {rank}: it has {told}")
    return Entrance(row.engine, Task(row.id, row.attempt, rank, node), row.project_id)
