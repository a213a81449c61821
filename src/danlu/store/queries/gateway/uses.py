"""When jobs were last used, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from danlu.store.sql.endpoint_tables import JobUseRow


def note_use(session: Session, job_id: str, at: datetime) -> None:
    """Store a use, unless a later one is stored."""
    known = session.get(JobUseRow, job_id)
    if known is None or known.used_at < at:
        session.merge(JobUseRow(job_id=job_id, used_at=at))


def note_uses(session: Session, uses: Sequence[tuple[str, datetime]]) -> None:
    for job_id, at in uses:
        note_use(session, job_id, at)


def last_uses(session: Session, job_ids: Sequence[str]) -> dict[str, datetime]:
    """Job -> its last use, for jobs that have one."""
    found: dict[str, datetime] = {}
    for first in range(0, len(job_ids), 500):
        query = select(JobUseRow).where(JobUseRow.job_id.in_(job_ids[first : first + 500]))
        found.update({row.job_id: row.used_at for row in session.scalars(query)})
    return found
