"""Quotas in SQL: how much of a resource a project, or one of its users, may hold."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from danlu.store.sql.tables import QuotaRow

WHOLE_PROJECT = 0
"""User id of a quota for the whole project."""


def all_quotas(session: Session) -> tuple[dict[int, dict[str, float]], dict[tuple[int, int], dict[str, float]]]:
    """All quotas: by project, and by project and user."""
    projects: dict[int, dict[str, float]] = {}
    users: dict[tuple[int, int], dict[str, float]] = {}
    for row in session.scalars(select(QuotaRow)):
        if row.user_id == WHOLE_PROJECT:
            projects.setdefault(row.project_id, {})[row.resource] = row.amount
        else:
            users.setdefault((row.project_id, row.user_id), {})[row.resource] = row.amount
    return projects, users


def set_quota(session: Session, project_id: int, user_id: int, amounts: Mapping[str, float]) -> None:
    """Replace the quota of a project (WHOLE_PROJECT) or of a user in it; other resources are unlimited."""
    session.execute(delete(QuotaRow).where(QuotaRow.project_id == project_id, QuotaRow.user_id == user_id))
    session.add_all(
        QuotaRow(project_id=project_id, user_id=user_id, resource=resource, amount=amount)
        for resource, amount in amounts.items()
    )
    session.flush()
