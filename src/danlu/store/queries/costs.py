"""What jobs with a price held, in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import JSON, or_, select
from sqlalchemy.orm import Session

from danlu.store.sql.tables import AttemptRow, JobRow

ROWS_AT_ONCE = 1000


class Held(NamedTuple):
    """One attempt of a job with a price."""

    job_id: str
    project_id: int
    owner_id: int
    terms: dict[str, Any]
    started_at: datetime
    ended_at: datetime | None


def held_between(session: Session, since: datetime | None, until: datetime) -> Iterator[Held]:
    """Attempts that held devices between two moments, those of a job one after the other."""
    query = (
        select(JobRow.id, JobRow.project_id, JobRow.owner_id, JobRow.terms, AttemptRow.started_at, AttemptRow.ended_at)
        .join(AttemptRow, AttemptRow.job_id == JobRow.id)
        .where(JobRow.terms.is_not(None), JobRow.terms != JSON.NULL)
        .where(AttemptRow.started_at.is_not(None), AttemptRow.started_at < until)
        .order_by(JobRow.id)
        .execution_options(yield_per=ROWS_AT_ONCE)
    )
    if since is not None:
        query = query.where(or_(AttemptRow.ended_at.is_(None), AttemptRow.ended_at > since))
    for row in session.execute(query):
        yield Held(*row)
