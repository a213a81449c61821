"""The rules of users: adding, disabling, enabling."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Stranger, UserIdentity
from danlu.errors import AlreadyExists, Conflict, NotAllowed, NotFound
from danlu.server.audit.service import record_action
from danlu.server.paging import page_of
from danlu.server.people.service import LINK_LIFE, make_link
from danlu.server.projects.members import add_member
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.messages.catalogue import say
from danlu.spec.states import Desired
from danlu.store.queries import jobs, people, projects
from danlu.store.sql.tables import UserRow
from danlu.wire.base import Page
from danlu.wire.people import ChangeUser, Disable, Invite, LinkOut, MakeLink, PersonState, RoleName, UserOut


def list_users(session: Session, who: UserIdentity, *, after: str, limit: int) -> Page[UserOut]:
    rows = people.list_users(session, visible_project_ids(who), me=who.user_id, after=after, limit=limit + 1)
    return page_of([user_out(session, who, row, is_whole=False) for row in rows], limit, lambda user: user.name)


def find(session: Session, who: UserIdentity, name: str) -> UserRow:
    """The user with this name, if the caller may see them: themselves, and users they share a project with."""
    row = people.user_by_name(session, name)
    if row is None or not _can_see(session, who, row):
        raise NotFound(f"no user {name!r}; `danlu users ls` lists the users that you can see")
    return row


def get(session: Session, who: UserIdentity, name: str) -> UserOut:
    return user_out(session, who, find(session, who, name))


def invite(session: Session, state: ServerState, who: UserIdentity, body: Invite) -> LinkOut:
    """Create an account, and a link to sign in."""
    rights.check_admin(who)
    rights.check_lasting(who, "an account")
    now = state.now()
    user = add_person(session, body.name, full_name=body.full_name, email=body.email, is_admin=body.is_admin, at=now)
    join(session, who, user, body.project, body.role, now)
    told = body.project if body.project is not None else None
    record_action(session, who, Action.USER_INVITE, f"user/{user.name}", at=now, is_admin=body.is_admin, project=told)
    return _link(session, state, user)


def new_link(session: Session, state: ServerState, who: UserIdentity, name: str, body: MakeLink) -> LinkOut:
    """A sign-in link for a user who forgot the password, or lost the invitation."""
    rights.check_admin(who)
    rights.check_lasting(who, "a link to sign in with")
    user = find(session, who, name)
    if not user.is_active:
        raise Conflict(f"{name} is disabled; first: danlu users enable {name}")
    if body.ends_access:
        people.delete_access(session, user.id, keys=True)
        user.password_hash = None
    record_action(session, who, Action.USER_LINK, f"user/{name}", at=state.now(), ends_access=body.ends_access)
    return _link(session, state, user)


def change(session: Session, state: ServerState, who: UserIdentity, name: str, body: ChangeUser) -> UserOut:
    """Change one's own full name and e-mail address; admins change those of all users, and who is an admin."""
    user = find(session, who, name)
    if not who.is_admin and (user.id != who.user_id or body.is_admin is not None):
        raise NotAllowed("you may change your own full name and mail address; only admins may change the rest")
    if body.is_admin is True and not user.is_admin:
        rights.check_lasting(who, "an admin account")
    if body.is_admin is False and user.is_admin:
        _check_another_admin(session, user)
    changes = body.model_dump(exclude_none=True)
    people.change_user(session, user, **changes)
    record_action(session, who, Action.USER_CHANGE, f"user/{name}", at=state.now(), **changes)
    return user_out(session, who, user)


def disable(session: Session, state: ServerState, who: UserIdentity, name: str, body: Disable) -> UserOut:
    """End a user's access at once: sessions, links and keys. Their jobs continue unless `stops_jobs` is set."""
    rights.check_admin(who)
    user, now = find(session, who, name), state.now()
    if user.is_active and user.is_admin:
        _check_another_admin(session, user)
    people.change_user(session, user, is_active=False)
    people.delete_access(session, user.id, keys=True)
    stopped = projects.open_jobs_of(session, user.id) if body.stops_jobs else []
    jobs.set_desired(session, [job.id for job in stopped], Desired.STOP)
    for job in stopped:
        told = say("stop_asked_disabled", who=who.name, name=name)
        jobs.add_event(session, job.id, job.attempt, kind="stop", message=told, at=now)
    record_action(session, who, Action.USER_DISABLE, f"user/{name}", at=now, num_jobs_stopped=len(stopped))
    return user_out(session, who, user)


def enable(session: Session, state: ServerState, who: UserIdentity, name: str) -> UserOut:
    """Enable a user again, with the same password. Keys, sessions and links stay deleted."""
    rights.check_admin(who)
    user = find(session, who, name)
    people.change_user(session, user, is_active=True)
    record_action(session, who, Action.USER_ENABLE, f"user/{name}", at=state.now())
    return user_out(session, who, user)


def add_person(
    session: Session, name: str, *, full_name: str, email: str, at: datetime, is_admin: bool = False
) -> UserRow:
    taken = AlreadyExists(f"the name {name!r} is taken; choose another", fields={"name": f"{name!r} is taken"})
    if people.user_by_name(session, name) is not None:
        raise taken
    try:
        return people.add_user(session, name, is_admin=is_admin, at=at, full_name=full_name, email=email)
    except IntegrityError as error:  # another server took the name first
        raise taken from error


def join(
    session: Session, who: UserIdentity | Stranger, user: UserRow, project: str | None, role: RoleName, now: datetime
) -> None:
    """Add a new user to a project, if one is named."""
    if not project:
        return
    row = projects.project_by_name(session, project)
    if row is None:
        told = f"no project {project!r}; `danlu projects ls` lists them"
        raise NotFound(told, fields={"project": told})
    add_member(session, row.id, user, role)
    record_action(
        session,
        who,
        Action.MEMBER_SET,
        f"project/{project}",
        at=now,
        project_id=row.id,
        user=user.name,
        role=role.value,
    )


def user_out(session: Session, who: UserIdentity, row: UserRow, *, is_whole: bool = True) -> UserOut:
    """What the caller may see of a user."""
    common = UserOut(
        name=row.name, full_name=row.full_name, is_admin=row.is_admin, state=state_of(row), created_at=row.created_at
    )
    if not who.is_admin and row.id != who.user_id:
        return common
    more: dict[str, object] = {
        "email": row.email,
        "has_password": row.password_hash is not None,
        "signed_in_at": row.signed_in_at,
    }
    if is_whole:
        roles = projects.roles_by_name(session, row.id)
        more["projects"] = {name: RoleName(role) for name, role in roles.items()}
        more["num_open_jobs"] = len(projects.open_jobs_of(session, row.id))
    return common.model_copy(update=more)


def state_of(row: UserRow) -> PersonState:
    if not row.is_active:
        return PersonState.DISABLED
    has_come = row.signed_in_at is not None or row.password_hash is not None
    return PersonState.ACTIVE if has_come else PersonState.INVITED


def _can_see(session: Session, who: UserIdentity, row: UserRow) -> bool:
    return who.is_admin or row.id == who.user_id or projects.share_a_project(session, row.id, list(who.roles))


def _check_another_admin(session: Session, user: UserRow) -> None:
    if user.is_active and people.num_active_admins(session) == 1:
        raise Conflict(f"{user.name} is the last admin; make another user an admin first: danlu users admin NAME")


def _link(session: Session, state: ServerState, user: UserRow) -> LinkOut:
    token = make_link(session, user.name, state.now())
    url = f"{state.settings.reached_at}/signin?token={token}"
    return LinkOut(user=user.name, url=url, expires_at=state.now() + LINK_LIFE)
