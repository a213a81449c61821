"""Checks whether clients of long responses still have access, with one look for all of them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.auth.identity import Origin, Role, UserIdentity
from danlu.errors import NotSignedIn
from danlu.server.identity import SESSION_ID_CHARS
from danlu.server.jobs.identity import of_attempt
from danlu.store.queries import followed, projects

Person = tuple[int, str]
"""A user's id, and the key or session that they use (`Origin.via`)."""


def identity_now(session: Session, person: Person, now: datetime) -> UserIdentity | None:
    """A user with current rights; None when they have no access any more."""
    return identities_now(session, [person], now)[person]


def identities_now(session: Session, people: Collection[Person], now: datetime) -> dict[Person, UserIdentity | None]:
    """Users with current rights; None for those who have no access any more."""
    user_ids = {user_id for user_id, _ in people}
    keys = {via.partition(" ")[2] for _, via in people if via.startswith("key ")}
    with_session = {user_id for user_id, via in people if via.startswith("session ")}
    users = followed.active_users(session, user_ids)
    roles = followed.roles_of(session, user_ids)
    archived = projects.archived_ids(session)
    valid_keys = followed.keys_valid_at(session, keys, now)
    sessions = {
        (user_id, digest[:SESSION_ID_CHARS])
        for user_id, digest in followed.sessions_valid_at(session, with_session, now)
    }

    def identity(user_id: int, via: str) -> UserIdentity | None:
        kind, _, name = via.partition(" ")
        if kind == "job":
            return _owner_by_job(session, name)
        user = users.get(user_id)
        if user is None or (kind == "key" and name not in valid_keys):
            return None
        if kind == "session" and (user_id, name) not in sessions:
            return None
        return UserIdentity(
            user_id=user_id,
            name=user.name,
            is_admin=user.is_admin,
            roles={project_id: Role(role) for project_id, role in roles.get(user_id, {}).items()},
            archived=archived,
            origin=Origin(via=via),
        )

    return {(user_id, via): identity(user_id, via) for user_id, via in people}


def _owner_by_job(session: Session, name: str) -> UserIdentity | None:
    """The owner that a job acts for, as long as it runs; `name` is its id and attempt."""
    job_id, _, attempt = name.partition("/")
    try:
        return of_attempt(session, job_id, int(attempt)).owner
    except NotSignedIn:
        return None
