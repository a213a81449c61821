"""Who may enter which task, and who may stay. No HTTP, no SQL, no commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import NotAllowed, WrongState
from danlu.gateway.terminals import Guest, Task, Terminal
from danlu.server.audit.service import note
from danlu.server.jobs.service import find, find_to_change
from danlu.server.state import ServerState
from danlu.server.streams.audience import identity_now
from danlu.spec.audit import Action
from danlu.spec.states import JobState, is_over
from danlu.store.queries import attempts, jobs
from danlu.store.sql.database import Database


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
    note(session, who, Action.JOB_ENTER, f"job/{row.id}", at=state.now(), project_id=row.project_id, rank=rank)
    return Entrance(row.engine, Task(row.id, row.attempt, rank, node))


def opened(state: ServerState, who: UserIdentity, job: str, name: str) -> Terminal:
    """The shell that somebody opened, if they may still be in its job. Otherwise it is closed."""
    with state.database.reading() as session:
        row = find(session, who, job)
    terminal = state.terminals.get(row.id, name, user_id=who.user_id)
    if not rights.can_change_job(who, project_id=row.project_id, owner_id=row.owner_id):
        state.terminals.close(name)
        raise NotAllowed(f"{row.id} is not yours to change any more; the shell was closed")
    return terminal


def guard(database: Database, now: Callable[[], datetime]) -> Callable[[Guest, str], bool]:
    """What `Terminals` asks of everybody who has a shell open."""

    def may_stay(guest: Guest, job_id: str) -> bool:
        with database.reading() as session:
            who = identity_now(session, guest, now())
            row = jobs.get_job(session, job_id)
        return (
            who is not None
            and row is not None
            and rights.can_change_job(who, project_id=row.project_id, owner_id=row.owner_id)
        )

    return may_stay
