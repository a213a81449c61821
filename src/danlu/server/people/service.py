"""The rules of users, sign-in and keys."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from danlu.auth import secrets
from danlu.auth.identity import Role, UserIdentity
from danlu.auth.rights import can_use_project
from danlu.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn, TooManyRequests
from danlu.server.identity import session_end
from danlu.server.state import ServerState
from danlu.store import people
from danlu.store.tables import ApiKeyRow
from danlu.wire.auth import KeyOut, MakeKey, MeOut, NewKeyOut, SessionOut, SignIn

ADMIN = "admin"
PROJECT = "default"
BUCKET = "main"
LINK_LIFE = timedelta(hours=24)
PASSWORD_WAIT_SECONDS = 2.0
_PASSWORD_TURNS = threading.BoundedSemaphore(2)  # a hash takes a core for a moment; strangers must not take them all


def wants_link(session: Session) -> bool:
    """Whether nobody could sign in any more: the admin has neither a key nor a password."""
    admin = people.user_by_name(session, ADMIN)
    return admin is not None and admin.password_hash is None and not people.keys_of(session, admin.id)


def first_start(session: Session, now: datetime) -> bool:
    """Make the admin, the first project and its bucket; False when there is somebody already."""
    if people.any_user(session):
        return False
    admin = people.add_user(session, ADMIN, is_admin=True, at=now)
    project = people.add_project(session, PROJECT)
    people.add_member(session, project.id, admin.id, Role.OWNER.value)
    people.add_bucket(session, BUCKET, project.id, now)
    return True


def make_link(session: Session, name: str, now: datetime) -> str:
    """Return the token of a link that signs the user in, once."""
    user = people.user_by_name(session, name)
    if user is None:
        raise NotFound(f"no user {name!r}")
    token = secrets.make_token()
    people.add_link(session, user.id, digest=secrets.digest(token), expires_at=now + LINK_LIFE)
    return token


def sign_in(state: ServerState, body: SignIn) -> tuple[SessionOut, str]:
    """Return the session and the cookie's value. A password is checked outside of any transaction: it takes long."""
    now = state.now()
    token = body.token
    user_id = _check_password(state, body) if token is None else state.database.write(_use_link, token, now)
    return state.database.write(_open_session, user_id, now)


def _open_session(session: Session, user_id: int, now: datetime) -> tuple[SessionOut, str]:
    user = people.get_user(session, user_id)
    if user is None or not user.is_active:
        raise NotSignedIn("the account is not active; ask an admin")
    cookie, csrf = secrets.make_token(), secrets.make_token()
    people.delete_old_sessions(session, now)
    people.add_session(session, user_id, digest=secrets.digest(cookie), csrf=csrf, expires_at=session_end(now))
    return SessionOut(user=user.name, csrf=csrf), cookie


def sign_out(session: Session, cookie: str) -> None:
    people.delete_session(session, secrets.digest(cookie))


def me(session: Session, who: UserIdentity) -> MeOut:
    names = people.projects_by_id(session)
    return MeOut(name=who.name, is_admin=who.is_admin, projects=[names[project_id] for project_id in who.roles])


def make_key(session: Session, who: UserIdentity, body: MakeKey, now: datetime) -> NewKeyOut:
    key = secrets.make_api_key()
    expires_at = None if body.expires_in_days is None else now + timedelta(days=body.expires_in_days)
    row = people.add_key(
        session, who.user_id, key_id=key.id, name=body.name, digest=key.digest, at=now, expires_at=expires_at
    )
    return NewKeyOut(**key_out(row).model_dump(), api_key=key.text)


def delete_key(session: Session, who: UserIdentity, key_id: str) -> None:
    if not people.delete_key(session, who.user_id, key_id):
        raise NotFound(f"no API key {key_id!r} of yours")


def key_out(row: ApiKeyRow) -> KeyOut:
    return KeyOut(
        id=row.id,
        name=row.name,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
    )


def project_ids_for(who: UserIdentity) -> Sequence[int] | None:
    """The projects that somebody sees; None for all."""
    return None if who.is_admin else list(who.roles)


def default_project(session: Session, who: UserIdentity) -> int:
    """The project that a job goes to when it does not say."""
    usable = [project_id for project_id in sorted(who.roles) if can_use_project(who, project_id)]
    if usable:
        return usable[0]
    if who.is_admin:
        return min(people.projects_by_id(session))
    raise NotAllowed("you are a member of no project that you may submit to; ask an admin")


def _use_link(session: Session, token: str, now: datetime) -> int:
    user_id = people.take_link(session, secrets.digest(token), now)
    if user_id is None:
        raise NotSignedIn("the sign-in link was used or is too old; `danlu up --new-link` prints a new one")
    return user_id


def _check_password(state: ServerState, body: SignIn) -> int:
    if body.name is None or body.password is None:
        raise InvalidInput("give a token, or a name and a password")
    user = state.database.read(people.user_by_name, body.name)
    if not _PASSWORD_TURNS.acquire(timeout=PASSWORD_WAIT_SECONDS):
        raise TooManyRequests("too many people sign in at the moment; try again in a few seconds")
    try:
        is_right = secrets.check_password(user.password_hash if user else None, body.password)
    finally:
        _PASSWORD_TURNS.release()
    if not is_right or user is None:
        raise NotSignedIn("the name or the password is wrong")
    return user.id
