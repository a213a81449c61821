"""Endpoints in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from danlu.store.sql.endpoint_tables import EndpointRow


def endpoints_of(session: Session, job_id: str) -> Sequence[EndpointRow]:
    query = select(EndpointRow).where(EndpointRow.job_id == job_id)
    return session.scalars(query.order_by(EndpointRow.opened_at, EndpointRow.name)).all()


def get_endpoint(session: Session, job_id: str, name: str) -> EndpointRow | None:
    return session.get(EndpointRow, (job_id, name))


def put_endpoint(session: Session, job_id: str, name: str, *, is_shared: bool, at: datetime) -> EndpointRow:
    """Add an endpoint, or change whether it is shared."""
    row = get_endpoint(session, job_id, name)
    if row is None:
        row = EndpointRow(job_id=job_id, name=name, opened_at=at)
        session.add(row)
    row.is_shared = is_shared
    session.flush()
    return row


def delete_endpoint(session: Session, job_id: str, name: str) -> None:
    session.execute(delete(EndpointRow).where(EndpointRow.job_id == job_id, EndpointRow.name == name))
