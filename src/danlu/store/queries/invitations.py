"""Invitations to projects, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from danlu.store.sql.rights_tables import InvitationRow


def add_invitation(session: Session, row: InvitationRow) -> None:
    session.add(row)
    session.flush()


def get_invitation(session: Session, invitation_id: str) -> InvitationRow | None:
    return session.get(InvitationRow, invitation_id)


def find_invitation(session: Session, project_id: int, name: str) -> InvitationRow | None:
    query = select(InvitationRow).where(InvitationRow.project_id == project_id, InvitationRow.name == name)
    return session.scalar(query)


def of_project(session: Session, project_id: int) -> Sequence[InvitationRow]:
    query = select(InvitationRow).where(InvitationRow.project_id == project_id)
    return session.scalars(query.order_by(InvitationRow.name)).all()


def of_user(session: Session, user_id: int) -> Sequence[InvitationRow]:
    query = select(InvitationRow).where(InvitationRow.user_id == user_id)
    return session.scalars(query.order_by(InvitationRow.created_at, InvitationRow.id)).all()


def num_of_project(session: Session, project_id: int) -> int:
    return session.scalar(select(func.count()).where(InvitationRow.project_id == project_id)) or 0


def delete_invitation(session: Session, row: InvitationRow) -> None:
    session.delete(row)
    session.flush()


def delete_expired(session: Session, now: datetime) -> None:
    session.execute(delete(InvitationRow).where(InvitationRow.expires_at <= now))
