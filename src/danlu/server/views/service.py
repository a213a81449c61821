"""The rules of saved views: a user's own, and those that others share in a project."""

from __future__ import annotations

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import Conflict, NotAllowed, NotFound
from danlu.server.audit.service import record_action
from danlu.server.paging import is_number, page_of
from danlu.server.scope import project_to_use, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.store.queries import people, views
from danlu.store.sql.view_tables import ViewRow
from danlu.wire.base import Page
from danlu.wire.saved.views import SaveView, ViewOut, ViewPage

MOST_OF_ONE = 500
MAX_ID_DIGITS = 9


def list_views(session: Session, who: UserIdentity, *, after: int, limit: int) -> Page[ViewOut]:
    rows = views.seen_by(session, who.user_id, visible_project_ids(who), after=after, limit=limit + 1)
    projects = people.projects_by_id(session)
    owners = people.names_of_users(session, {row.owner_id for row in rows})
    shown = [_out(who, row, projects[row.project_id], owners.get(row.owner_id, "")) for row in rows]
    return page_of(shown, limit, lambda view: view.id)


def get(session: Session, who: UserIdentity, view: str) -> ViewOut:
    row = _find(session, who, view)
    owners = people.names_of_users(session, {row.owner_id})
    return _out(who, row, people.project_name(session, row.project_id), owners.get(row.owner_id, ""))


def save(session: Session, state: ServerState, who: UserIdentity, body: SaveView) -> ViewOut:
    """Save a view. It replaces the user's own of this name in the project."""
    project_id = project_to_use(session, who, body.project)
    row = views.by_name(session, project_id, owner_id=who.user_id, name=body.name)
    if row is None:
        if views.count_of(session, who.user_id) >= MOST_OF_ONE:
            raise Conflict(f"you have {MOST_OF_ONE} views already; delete one of them")
        row = ViewRow(project_id=project_id, owner_id=who.user_id, name=body.name)
    row.page, row.search, row.is_shared, row.changed_at = body.page, body.search, body.is_shared, state.now()
    views.add_view(session, row)
    _record(session, who, Action.VIEW_SAVE, row, state)
    return _out(who, row, people.project_name(session, project_id), who.name)


def delete(session: Session, state: ServerState, who: UserIdentity, view: str) -> None:
    row = _find(session, who, view)
    if not _can_change(who, row):
        raise NotAllowed(f"you may not delete view {row.name!r}; ask its owner or an owner of its project")
    _record(session, who, Action.VIEW_DELETE, row, state)
    views.delete_view(session, row)


def _find(session: Session, who: UserIdentity, view: str) -> ViewRow:
    row = views.get_view(session, int(view)) if is_number(view, max_digits=MAX_ID_DIGITS) else None
    if row is None or not _can_see(who, row):
        raise NotFound(f"no view {view[:40]!r}; it was deleted, or it is not shared with you")
    return row


def _can_see(who: UserIdentity, row: ViewRow) -> bool:
    return rights.can_see_saved(who, project_id=row.project_id, owner_id=row.owner_id, is_shared=row.is_shared)


def _can_change(who: UserIdentity, row: ViewRow) -> bool:
    return rights.can_change_job(who, project_id=row.project_id, owner_id=row.owner_id)


def _record(session: Session, who: UserIdentity, action: Action, row: ViewRow, state: ServerState) -> None:
    record_action(session, who, action, f"view/{row.name}", at=state.now(), project_id=row.project_id)


def _out(who: UserIdentity, row: ViewRow, project: str, owner: str) -> ViewOut:
    return ViewOut(
        id=str(row.id),
        name=row.name,
        project=project,
        owner=owner,
        is_shared=row.is_shared,
        is_yours=_can_change(who, row),
        page=ViewPage(row.page),
        search=row.search,
        changed_at=row.changed_at,
    )
