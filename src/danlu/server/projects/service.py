"""The rules of projects, their members and their buckets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Role, UserIdentity
from danlu.errors import AlreadyExists, Conflict, NotFound
from danlu.server.audit.service import record_action
from danlu.server.invalid import bad_field
from danlu.server.paging import page_of
from danlu.server.projects.members import add_member
from danlu.server.scope import find_project, find_project_to_own, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.paths import check_bucket
from danlu.store.queries import artifacts, buckets, models, people, projects, used_names
from danlu.store.queries.used_names import UsedKind
from danlu.store.sql.tables import ProjectRow, UserRow
from danlu.wire.base import Page
from danlu.wire.people import RoleName
from danlu.wire.projects import ChangeProject, MakeProject, MemberOut, ProjectOut, ProjectSummary, SetMember


def list_projects(session: Session, who: UserIdentity, *, after: str, limit: int) -> Page[ProjectSummary]:
    rows = projects.list_projects(session, visible_project_ids(who), after=after, limit=limit + 1)
    return page_of([_row_out(who, row) for row in rows], limit, lambda project: project.name)


def get(session: Session, who: UserIdentity, name: str) -> ProjectOut:
    return project_out(session, who, find_project(session, who, name))


def make(session: Session, state: ServerState, who: UserIdentity, body: MakeProject) -> ProjectOut:
    """Create a project, with a bucket if one is named."""
    rights.check_admin(who)
    now = state.now()
    owner = _person(session, body.owner or who.name)
    _check_free(session, who, body.name)
    try:
        row = people.add_project(session, body.name, description=body.description, at=now)
    except IntegrityError as error:  # another server took the name first
        raise _taken(body.name) from error
    add_member(session, row.id, owner, RoleName.OWNER)
    record_action(
        session, who, Action.PROJECT_MAKE, f"project/{body.name}", at=now, project_id=row.id, owner=owner.name
    )
    if body.bucket is not None:
        _add_bucket(session, who, row, body.bucket, now)
    return project_out(session, who, row)


def change(session: Session, state: ServerState, who: UserIdentity, name: str, body: ChangeProject) -> ProjectOut:
    row, now = find_project_to_own(session, who, name), state.now()
    values: dict[str, Any] = body.model_dump(exclude_none=True, exclude={"is_archived"})
    if body.name is not None and body.name != name:
        _check_free(session, who, body.name, of=row.id)
        used_names.remember(session, UsedKind.PROJECT, name, project_id=row.id, at=now)
    if body.is_archived is True and row.archived_at is None:
        num_open = projects.num_jobs(session, row.id, is_open=True)
        if num_open:
            raise Conflict(f"{num_open} of the project's jobs wait or run; stop them first: danlu ps, danlu stop JOB")
        values["archived_at"] = now
    if body.is_archived is False:
        values["archived_at"] = None
    try:
        projects.change_project(session, row, **values)
    except IntegrityError as error:  # another server took the name first
        raise _taken(row.name) from error
    changes = body.model_dump(exclude_none=True)
    record_action(session, who, Action.PROJECT_CHANGE, f"project/{name}", at=now, project_id=row.id, **changes)
    return project_out(session, who, row)


def delete(session: Session, state: ServerState, who: UserIdentity, name: str) -> None:
    """Delete an empty project; otherwise report what is in it."""
    row = find_project_to_own(session, who, name)
    num_jobs = projects.num_jobs(session, row.id)
    names = [bucket.name for bucket in buckets.list_buckets(session, [row.id])]
    num_artifacts = artifacts.num_in_project(session, row.id)
    num_models = models.num_in_project(session, row.id)
    num_runs = projects.num_runs(session, row.id)
    inside = [
        *([f"{num_jobs} job{'' if num_jobs == 1 else 's'}"] if num_jobs else []),
        *([f"{num_artifacts} artifact{'' if num_artifacts == 1 else 's'}"] if num_artifacts else []),
        *([f"{num_models} model{'' if num_models == 1 else 's'}"] if num_models else []),
        *([f"{num_runs} run{'' if num_runs == 1 else 's'} (including the trash)"] if num_runs else []),
        *([f"bucket{'' if len(names) == 1 else 's'} {', '.join(names)}"] if names else []),
    ]
    if inside:
        raise Conflict(
            f"project {name!r} is not empty: {' and '.join(inside)}; delete or move that first, "
            f"or archive it: danlu projects archive {name}"
        )
    record_action(session, who, Action.PROJECT_DELETE, f"project/{name}", at=state.now())
    projects.delete_project(session, row, at=state.now())


def set_member(
    session: Session, state: ServerState, who: UserIdentity, name: str, user_name: str, *, body: SetMember
) -> ProjectOut:
    """Change the role of a member. Admins add any user; for owners all names that are no members get the same error."""
    row = find_project_to_own(session, who, name)
    user = _person(session, user_name) if who.is_admin else _member(session, row, user_name)
    if body.role is not RoleName.OWNER:
        _check_another_owner(session, row, user)
    add_member(session, row.id, user, body.role)
    _record_member_change(session, state, who, row, Action.MEMBER_SET, user=user_name, role=body.role.value)
    return project_out(session, who, row)


def remove_member(session: Session, state: ServerState, who: UserIdentity, name: str, user_name: str) -> None:
    """Owners remove any member; every member may leave."""
    row = find_project(session, who, name) if user_name == who.name else find_project_to_own(session, who, name)
    user = _member(session, row, user_name)
    _check_another_owner(session, row, user)
    projects.delete_member(session, row.id, user.id)
    _record_member_change(session, state, who, row, Action.MEMBER_REMOVE, user=user_name)


def project_out(session: Session, who: UserIdentity, row: ProjectRow) -> ProjectOut:
    found = projects.members(session, row.id)
    own = next((RoleName(member.role) for member in found if member.user_id == who.user_id), None)
    common = _row_out(who, row).model_dump() | {"role": own}
    return ProjectOut(
        **common,
        members=[
            MemberOut(name=one.name, full_name=one.full_name, role=RoleName(one.role), is_active=one.is_active)
            for one in found
        ],
        buckets=[bucket.name for bucket in buckets.list_buckets(session, [row.id])],
        num_jobs=projects.num_jobs(session, row.id),
        num_open_jobs=projects.num_jobs(session, row.id, is_open=True),
    )


def _row_out(who: UserIdentity, row: ProjectRow) -> ProjectSummary:
    role = who.roles.get(row.id)
    return ProjectSummary(
        name=row.name,
        description=row.description,
        role=None if role is None else RoleName(role.value),
        is_archived=row.archived_at is not None,
        created_at=row.created_at,
    )


def _add_bucket(session: Session, who: UserIdentity, row: ProjectRow, name: str, now: datetime) -> None:
    try:
        check_bucket(name)
    except ValueError as error:
        raise bad_field("bucket", str(error)) from error
    if buckets.get_bucket(session, name) is not None:
        raise bad_field("bucket", f"{name!r} exists already; choose another name")
    buckets.add_bucket(session, name, project_id=row.id, at=now)
    record_action(session, who, Action.BUCKET_MAKE, f"bucket/{name}", at=now, project_id=row.id)


def _person(session: Session, name: str) -> UserRow:
    user = people.user_by_name(session, name)
    if user is None or not user.is_active:
        raise NotFound(f"no active user {name!r}; names are written as in `danlu whoami`")
    return user


def _member(session: Session, row: ProjectRow, name: str) -> UserRow:
    user = people.user_by_name(session, name)
    if user is None or all(member.user_id != user.id for member in projects.members(session, row.id)):
        raise NotFound(f"{name!r} is no member of {row.name!r}; invite them: danlu projects invite {row.name} NAME")
    return user


def _check_free(session: Session, who: UserIdentity, name: str, *, of: int | None = None) -> None:
    """Only admins may reuse a name that another project had: jobs of users may still name it."""
    if projects.project_by_name(session, name) is not None:
        raise _taken(name)
    before = used_names.find(session, UsedKind.PROJECT, name)
    if before is not None and before.project_id != of and not who.is_admin:
        raise _taken(name)


def _taken(name: str) -> AlreadyExists:
    told = f"{name!r} is taken"
    return AlreadyExists(f"invalid project name: {told}; choose another name", fields={"name": told})


def _check_another_owner(session: Session, row: ProjectRow, user: UserRow) -> None:
    """Reject a change that would leave no owner who can sign in."""
    owners = {member.user_id for member in projects.members(session, row.id) if member.role == Role.OWNER.value}
    active = {member.user_id for member in projects.members(session, row.id) if member.is_active} & owners
    if user.id in owners and not active - {user.id}:
        raise Conflict(
            f"{user.name} is the last owner of {row.name!r}; "
            f"make another user an owner first: danlu projects add {row.name} NAME --role owner"
        )


def _record_member_change(
    session: Session, state: ServerState, who: UserIdentity, row: ProjectRow, action: Action, **details: str
) -> None:
    record_action(session, who, action, f"project/{row.name}", at=state.now(), project_id=row.id, **details)
