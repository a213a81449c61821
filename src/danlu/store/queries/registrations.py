"""Registrations and OpenID Connect identities in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from danlu.store.sql.tables import OidcAccountRow, RegistrationRow, UserRow


def add_registration(session: Session, row: RegistrationRow) -> None:
    session.add(row)
    session.flush()


def num_registrations(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(RegistrationRow)) or 0


def get_registration(session: Session, registration_id: str) -> RegistrationRow | None:
    return session.get(RegistrationRow, registration_id)


def list_registrations(session: Session, *, after: str, limit: int) -> Sequence[RegistrationRow]:
    """Registrations by id, which is their order of arrival."""
    query = select(RegistrationRow).where(RegistrationRow.id > after)
    return session.scalars(query.order_by(RegistrationRow.id).limit(limit)).all()


def registration_of_subject(session: Session, issuer: str, subject: str) -> RegistrationRow | None:
    query = select(RegistrationRow).where(RegistrationRow.issuer == issuer, RegistrationRow.subject == subject)
    return session.scalar(query.limit(1))


def delete_registration(session: Session, registration_id: str) -> None:
    session.execute(delete(RegistrationRow).where(RegistrationRow.id == registration_id))


def user_of_subject(session: Session, issuer: str, subject: str) -> UserRow | None:
    found = session.get(OidcAccountRow, (issuer, subject))
    return None if found is None else session.get(UserRow, found.user_id)


def add_subject(session: Session, issuer: str, subject: str, user_id: int) -> None:
    session.add(OidcAccountRow(issuer=issuer, subject=subject, user_id=user_id))
