"""The rules of templates: a user's own, and those that others share in a project."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import Conflict, NotAllowed, NotFound
from danlu.server.audit.service import record_action
from danlu.server.paging import is_number, page_of
from danlu.server.scope import project_to_use, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.store.queries import people, templates
from danlu.store.sql.template_tables import TemplateRow
from danlu.wire.base import Page
from danlu.wire.saved.templates import SaveTemplate, TemplateOut

MOST_OF_ONE = 500
MAX_ID_DIGITS = 9


def list_templates(session: Session, who: UserIdentity, *, after: int, limit: int) -> Page[TemplateOut]:
    rows = templates.seen_by(session, who.user_id, visible_project_ids(who), after=after, limit=limit + 1)
    projects = people.projects_by_id(session)
    owners = people.names_of_users(session, {row.owner_id for row in rows})
    shown = [_out(who, row, projects[row.project_id], owners.get(row.owner_id, "")) for row in rows]
    return page_of(shown, limit, lambda template: template.id)


def save(
    session: Session, state: ServerState, who: UserIdentity, body: SaveTemplate, *, spec: dict[str, Any]
) -> TemplateOut:
    """Save a template with these fields. It replaces the user's own of this name in the project."""
    project_id, now = project_to_use(session, who, body.project), state.now()
    row = templates.by_name(session, project_id, who.user_id, body.name)
    if row is None:
        if templates.count_of(session, who.user_id) >= MOST_OF_ONE:
            raise Conflict(f"you have {MOST_OF_ONE} templates already; delete one of them")
        row = TemplateRow(project_id=project_id, owner_id=who.user_id, name=body.name)
    row.spec, row.is_shared, row.changed_at = spec, body.is_shared, now
    templates.add_template(session, row)
    _record(session, who, Action.TEMPLATE_SAVE, row, state)
    return _out(who, row, people.project_name(session, project_id), who.name)


def delete(session: Session, state: ServerState, who: UserIdentity, template: str) -> None:
    row = templates.get_template(session, int(template)) if is_number(template, max_digits=MAX_ID_DIGITS) else None
    if row is None or not _can_see(who, row):
        raise NotFound(f"no template {template[:40]!r}; `danlu templates ls` shows them")
    if not _can_change(who, row):
        raise NotAllowed(f"you may not delete template {row.name!r}; ask its owner or an owner of its project")
    _record(session, who, Action.TEMPLATE_DELETE, row, state)
    templates.delete_template(session, row)


def _can_see(who: UserIdentity, row: TemplateRow) -> bool:
    return rights.can_see_saved(who, project_id=row.project_id, owner_id=row.owner_id, is_shared=row.is_shared)


def _can_change(who: UserIdentity, row: TemplateRow) -> bool:
    return rights.can_change_job(who, project_id=row.project_id, owner_id=row.owner_id)


def _record(session: Session, who: UserIdentity, action: Action, row: TemplateRow, state: ServerState) -> None:
    record_action(session, who, action, f"template/{row.name}", at=state.now(), project_id=row.project_id)


def _out(who: UserIdentity, row: TemplateRow, project: str, owner: str) -> TemplateOut:
    return TemplateOut(
        id=str(row.id),
        name=row.name,
        project=project,
        owner=owner,
        is_shared=row.is_shared,
        is_yours=_can_change(who, row),
        spec=row.spec,
        changed_at=row.changed_at,
    )
