"""Adding members to a project."""

from __future__ import annotations

from sqlalchemy.orm import Session

from danlu.store.queries import people, projects
from danlu.store.sql.tables import UserRow
from danlu.wire.people import RoleName


def add_member(session: Session, project_id: int, user: UserRow, role: RoleName) -> None:
    """Add a member, or change their role.

    The first project that they may add to becomes their default project. Later only they can change it: anyone else who
    could would receive their jobs, with the secrets in them.
    """
    projects.set_member(session, project_id, user.id, role.value)
    if user.default_project_id is None and role is not RoleName.VIEWER:
        people.set_default_project(session, user, project_id)
