"""The rules of a user's own account, of API keys, and of the first start."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from danlu.auth import rights, secrets
from danlu.auth.identity import JobIdentity, UserIdentity
from danlu.auth.secrets import Sealer
from danlu.errors import Conflict, NotFound
from danlu.server.audit.service import record_action
from danlu.server.invalid import bad_field
from danlu.server.paging import page_of
from danlu.server.projects.members import add_member
from danlu.server.scope import project_to_use
from danlu.spec.audit import Action
from danlu.store.queries import buckets, jobs, people
from danlu.store.sql.tables import ApiKeyRow
from danlu.wire.auth import KeyOut, MakeKey, MeOut, NewKeyOut, SetDefaultProject
from danlu.wire.base import Page
from danlu.wire.people import RoleName

ADMIN = "admin"
PROJECT = "default"
BUCKET = "main"
LINK_LIFE = timedelta(hours=24)
MAX_KEYS = 1000


def wants_link(session: Session) -> bool:
    """Whether nobody can sign in any more: the first admin has neither a key nor a password."""
    admin = people.user_by_name(session, ADMIN)
    return admin is not None and admin.password_hash is None and not people.keys_of(session, admin.id)


def first_start(session: Session, now: datetime) -> bool:
    """Create the admin, the first project and its bucket; False if there are users already."""
    if people.any_user(session):
        return False
    admin = people.add_user(session, ADMIN, is_admin=True, at=now)
    project = people.add_project(session, PROJECT, at=now)
    add_member(session, project.id, admin, RoleName.OWNER)
    buckets.add_bucket(session, BUCKET, project_id=project.id, at=now)
    return True


def first_admin_link(session: Session, now: datetime) -> str:
    """The token of a link for the first admin who is still active."""
    admin = people.first_active_admin(session)
    return make_link(session, ADMIN if admin is None else admin.name, now)


def make_link(session: Session, name: str, now: datetime) -> str:
    """Return the token of a link that signs the user in, once."""
    user = people.user_by_name(session, name)
    if user is None:
        raise NotFound(f"no user {name!r}")
    token = secrets.make_token()
    people.add_link(session, user.id, digest=secrets.digest(token), expires_at=now + LINK_LIFE)
    return token


def make_own_link(session: Session, who: UserIdentity, now: datetime) -> str:
    """The token of a link for the user themselves."""
    record_action(session, who, Action.USER_LINK, f"user/{who.name}", at=now)
    return make_link(session, who.name, now)


def me(session: Session, who: UserIdentity) -> MeOut:
    user = people.get_user(session, who.user_id)
    assert user is not None, "the user of a request exists"
    names = people.projects_by_id(session)
    default = user.default_project_id
    return MeOut(
        name=who.name,
        is_admin=who.is_admin,
        projects=[names[project_id] for project_id in who.roles],
        roles={names[project_id]: RoleName(role.value) for project_id, role in who.roles.items()},
        full_name=user.full_name,
        email=user.email,
        has_password=user.password_hash is not None,
        default_project=None if default is None or not rights.can_see_project(who, default) else names.get(default),
    )


def job_itself(session: Session, who: JobIdentity) -> MeOut:
    """The identity of a job and its owner."""
    job = jobs.get_job(session, who.job_id)
    assert job is not None, "its token was valid a moment ago"
    owner = people.get_user(session, job.owner_id)
    project = people.project_name(session, who.project_id)
    return MeOut(
        name=owner.name if owner is not None else "",
        is_admin=False,
        projects=[project],
        job=who.job_id,
        attempt=who.attempt,
        access=who.access,
    )


def set_default_project(session: Session, who: UserIdentity, body: SetDefaultProject, now: datetime) -> None:
    """Set the project for the user's jobs that name none."""
    project_id = project_to_use(session, who, body.project)
    user = people.get_user(session, who.user_id)
    assert user is not None, "the user of a request exists"
    people.set_default_project(session, user, project_id)
    record_action(session, who, Action.USER_DEFAULT, f"user/{who.name}", at=now, project=body.project)


def make_key(
    session: Session, who: UserIdentity, body: MakeKey, now: datetime, *, sealer: Sealer | None = None
) -> NewKeyOut:
    """Create an API key; with a sealer, one that signs requests."""
    if len(people.keys_of(session, who.user_id)) >= MAX_KEYS:
        raise Conflict(f"you have {MAX_KEYS} API keys already; delete one that is not used: danlu keys ls")
    expires_at = None if body.expires_in_days is None else now + timedelta(days=body.expires_in_days)
    if who.key_ends_at is not None and (expires_at is None or expires_at > who.key_ends_at):
        asked = "no end" if expires_at is None else f"{expires_at:%Y-%m-%d %H:%M}"
        told = (
            f"expected an end up to {who.key_ends_at:%Y-%m-%d %H:%M} UTC, when the key that asks expires, got {asked}"
        )
        raise bad_field("expires_in_days", told)
    key = secrets.make_api_key(sealer)
    row = ApiKeyRow(
        id=key.id, user_id=who.user_id, name=body.name, digest=key.digest, created_at=now, expires_at=expires_at
    )
    people.add_key(session, row)
    record_action(session, who, Action.KEY_MAKE, f"key/{key.id}", at=now, name=body.name, days=body.expires_in_days)
    return NewKeyOut(**key_out(row, who.name).model_dump(), api_key=key.text)


def list_keys(session: Session, who: UserIdentity, user: str | None, *, after: str, limit: int) -> Page[KeyOut]:
    """The user's own keys; admins may name another user."""
    of = who.user_id
    if user is not None and user != who.name:
        rights.check_admin(who, "only admins may list the API keys of other users")
        found = people.user_by_name(session, user)
        if found is None:
            raise NotFound(f"no user {user!r}; `danlu users ls` lists them")
        of = found.id
    keys = people.list_keys(session, of, after=after, limit=limit + 1)
    return page_of([key_out(key, owner.name) for key, owner in keys], limit, lambda key: key.id)


def delete_key(session: Session, who: UserIdentity, key_id: str, now: datetime) -> None:
    """Delete one of the user's own keys; admins may delete any key."""
    found = people.get_key(session, key_id)
    if found is None or not (who.is_admin or found[1].id == who.user_id):
        raise NotFound(f"no API key {key_id!r} of yours")
    people.delete_key(session, key_id)
    record_action(session, who, Action.KEY_DELETE, f"key/{key_id}", at=now, name=found[0].name, user=found[1].name)


def key_out(row: ApiKeyRow, owner: str) -> KeyOut:
    return KeyOut(
        id=row.id,
        name=row.name,
        user=owner,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
    )
