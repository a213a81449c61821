"""Alerts that scripts sent with `run.alert`, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from danlu.store.sql.database import num_changed
from danlu.store.sql.run_tables import RunAlertRow, RunRow

WAITING, TOLD, KEPT = "waiting", "told", "kept"
"""States: users are to be notified; were notified; are not notified, the alert is only shown with its run."""


class NumTold(NamedTuple):
    of_run: int
    of_owner: int


def alerts_of(session: Session, run: int, *, before: int | None, limit: int) -> Sequence[RunAlertRow]:
    """Alerts of a run, newest first."""
    query = select(RunAlertRow).where(RunAlertRow.run == run).order_by(RunAlertRow.number.desc()).limit(limit)
    if before is not None:
        query = query.where(RunAlertRow.number < before)
    return session.scalars(query).all()


def num_of(session: Session, run: int) -> int:
    return session.scalar(select(func.count()).where(RunAlertRow.run == run).select_from(RunAlertRow)) or 0


def are_waiting(session: Session) -> bool:
    return session.scalar(select(RunAlertRow.number).where(RunAlertRow.state == WAITING).limit(1)) is not None


def waiting(session: Session, limit: int) -> Sequence[tuple[RunAlertRow, RunRow]]:
    """Alerts in state WAITING with their runs, oldest first."""
    query = select(RunAlertRow, RunRow).join(RunRow, RunRow.number == RunAlertRow.run)
    rows = session.execute(query.where(RunAlertRow.state == WAITING).order_by(RunAlertRow.number).limit(limit))
    return [(row[0], row[1]) for row in rows]


def settle(session: Session, row: RunAlertRow, state: str, now: datetime) -> bool:
    """Set the state of a waiting alert; False if another server was faster."""
    mine = update(RunAlertRow).where(RunAlertRow.number == row.number, RunAlertRow.state == WAITING)
    return num_changed(session, mine.values(state=state, told_at=now if state == TOLD else None)) == 1


def num_told(session: Session, run: RunRow, since: datetime) -> NumTold:
    """Number of alerts since a moment that users were notified of: of a run, and of all runs of its owner."""
    told = select(func.count()).select_from(RunAlertRow).where(RunAlertRow.state == TOLD, RunAlertRow.told_at > since)
    of_run = session.scalar(told.where(RunAlertRow.run == run.number)) or 0
    owners = told.join(RunRow, RunRow.number == RunAlertRow.run).where(RunRow.owner_id == run.owner_id)
    return NumTold(of_run, session.scalar(owners) or 0)
