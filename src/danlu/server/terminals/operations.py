"""Open shells: rights are checked again at each use, in a transaction each time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import NotAllowed
from danlu.gateway.terminals import Guest, Terminal
from danlu.server.jobs.service import find
from danlu.server.state import ServerState
from danlu.server.streams.audience import identity_now
from danlu.server.uses.operations import Uses
from danlu.store.queries import jobs
from danlu.store.sql.database import Database


def opened(state: ServerState, who: UserIdentity, job: str, name: str) -> Terminal:
    """The shell that the user opened, if they may still use its job. Otherwise it is closed."""
    with state.database.reading() as session:
        row = find(session, who, job)
    terminal = state.terminals.get(row.id, name, user_id=who.user_id)
    if not rights.can_change_job(who, project_id=row.project_id, owner_id=row.owner_id):
        state.terminals.close(name)
        raise NotAllowed(f"you may no longer change {row.id}; the shell was closed")
    return terminal


def guard(database: Database, now: Callable[[], datetime]) -> Callable[[Guest, str], bool]:
    """The check that `Terminals` makes for each user with an open shell."""
    uses = Uses(database, now)

    def may_stay(guest: Guest, job_id: str) -> bool:
        with database.reading() as session:
            who = identity_now(session, guest, now())
            row = jobs.get_job(session, job_id)
        if who is None or row is None:
            return False
        may = rights.can_change_job(who, project_id=row.project_id, owner_id=row.owner_id)
        if may:
            uses.note(job_id)
        return may

    return may_stay
