"""Webhooks and deliveries in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.orm import Session

from danlu.spec.monitoring.events import DeliveryState
from danlu.store.sql.monitoring_tables import DeliveryRow, WebhookRow


def add_webhook(session: Session, row: WebhookRow) -> None:
    session.add(row)
    session.flush()


def get_webhook(session: Session, webhook_id: str) -> WebhookRow | None:
    return session.get(WebhookRow, webhook_id)


def webhooks_of(session: Session, user_id: int) -> Sequence[WebhookRow]:
    query = select(WebhookRow).where(WebhookRow.user_id == user_id)
    return session.scalars(query.order_by(WebhookRow.created_at, WebhookRow.id)).all()


def all_webhooks(session: Session) -> Sequence[WebhookRow]:
    return session.scalars(select(WebhookRow).order_by(WebhookRow.id)).all()


def delete_webhook(session: Session, row: WebhookRow) -> None:
    session.execute(delete(DeliveryRow).where(DeliveryRow.webhook_id == row.id))
    session.delete(row)
    session.flush()


def add_delivery(session: Session, row: DeliveryRow) -> None:
    session.add(row)
    session.flush()


def get_delivery(session: Session, number: int) -> DeliveryRow | None:
    return session.get(DeliveryRow, number)


def list_deliveries(session: Session, webhook_id: str, *, before: int | None, limit: int) -> Sequence[DeliveryRow]:
    """Deliveries of a webhook, newest first."""
    query = select(DeliveryRow).where(DeliveryRow.webhook_id == webhook_id)
    if before is not None:
        query = query.where(DeliveryRow.number < before)
    return session.scalars(query.order_by(DeliveryRow.number.desc()).limit(limit)).all()


def num_waiting(session: Session, webhook_id: str) -> int:
    query = select(func.count()).select_from(DeliveryRow).where(_is_waiting(), DeliveryRow.webhook_id == webhook_id)
    return session.scalar(query) or 0


def is_any_due(session: Session, now: datetime) -> bool:
    query = select(DeliveryRow.number).where(_is_waiting(), DeliveryRow.next_at <= now)
    return session.scalar(query.limit(1)) is not None


def claim_due(session: Session, now: datetime, *, seconds: float, limit: int) -> Sequence[DeliveryRow]:
    """Return deliveries that are due, and count a try for each. They are due again after `seconds` unless their result
    is stored before."""
    query = select(DeliveryRow).where(_is_waiting(), DeliveryRow.next_at <= now)
    rows = session.scalars(query.order_by(DeliveryRow.next_at, DeliveryRow.number).limit(limit)).all()
    for row in rows:
        row.num_tries, row.next_at, row.tried_at = row.num_tries + 1, now + timedelta(seconds=seconds), now
    session.flush()
    return rows


def set_result(
    session: Session,
    number: int,
    state: DeliveryState,
    *,
    status: int | None,
    problem: str,
    next_at: datetime | None = None,
) -> None:
    values: dict[str, object] = {"state": state.value, "status": status, "problem": problem}
    if next_at is not None:
        values["next_at"] = next_at
    session.execute(update(DeliveryRow).where(DeliveryRow.number == number).values(**values))


def deliveries_by_state(session: Session) -> dict[str, int]:
    query = select(DeliveryRow.state, func.count()).group_by(DeliveryRow.state)
    return dict(session.execute(query).all())


def forget_deliveries(session: Session, before: datetime) -> None:
    """Delete finished deliveries that were created before this time."""
    session.execute(
        delete(DeliveryRow).where(DeliveryRow.state != DeliveryState.WAITING.value, DeliveryRow.created_at < before)
    )


def _is_waiting() -> ColumnElement[bool]:
    return DeliveryRow.state == DeliveryState.WAITING.value
