"""The rules of favourites: jobs that a user sees and wants to find again. Nobody else sees them."""

from __future__ import annotations

from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.errors import Conflict
from danlu.server.jobs.service import find
from danlu.server.paging import page_of
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState
from danlu.store.queries import jobs
from danlu.store.sql.favourite_tables import FavouriteRow
from danlu.wire.base import Page
from danlu.wire.jobs import FavouriteOut

MOST_OF_ONE = 10_000


def list_favourites(session: Session, who: UserIdentity, *, before: str | None, limit: int) -> Page[FavouriteOut]:
    """Favourites among the jobs that the user sees now."""
    rows = jobs.favourites_of(session, who.user_id, visible_project_ids(who), before=before, limit=limit + 1)
    return page_of([_out(row) for row in rows], limit, lambda favourite: favourite.job)


def add(session: Session, state: ServerState, who: UserIdentity, job: str) -> FavouriteOut:
    job_id = find(session, who, job).id
    row = jobs.get_favourite(session, who.user_id, job_id)
    if row is None:
        if jobs.count_favourites(session, who.user_id) >= MOST_OF_ONE:
            raise Conflict(f"you have {MOST_OF_ONE} favourites already; remove one of them")
        row = FavouriteRow(user_id=who.user_id, job_id=job_id, added_at=state.now())
        jobs.add_favourite(session, row)
    return _out(row)


def remove(session: Session, who: UserIdentity, job: str) -> None:
    jobs.delete_favourite(session, who.user_id, find(session, who, job).id)


def _out(row: FavouriteRow) -> FavouriteOut:
    return FavouriteOut(job=row.job_id, added_at=row.added_at)
