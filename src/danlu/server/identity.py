"""Authentication by API key, browser session or job token. Routes take one of `CurrentIdentity`, `CurrentUser`,
`CurrentReader` and `CurrentActor`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Optional, cast, overload

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session
from starlette.requests import HTTPConnection

from danlu.auth import rights, secrets
from danlu.auth.identity import Identity, JobIdentity, Origin, Role, UserIdentity
from danlu.errors import DanluError, NotAllowed, NotSignedIn
from danlu.server.admission.turns import JOBS
from danlu.server.jobs.identity import acting_now, job_identity, of_attempt, with_origin
from danlu.server.state import ServerState
from danlu.spec.job import JobAccess
from danlu.store.queries import people, projects
from danlu.store.sql.tables import UserRow

COOKIE = "danlu_session"
WHO = "danlu.who"
"""Key in a request's scope of its identity, or of the error that authentication raised."""

CSRF_HEADER = "X-Danlu-CSRF"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
TOUCH_EVERY = timedelta(minutes=1)
SESSION_ID_CHARS = 12
_HINT = "sign in with `danlu login`, or set DANLU_API_KEY"


_Bearer = Annotated[
    Optional[HTTPAuthorizationCredentials], Depends(HTTPBearer(auto_error=False, description="API key or job token"))
]


async def _origin(request: Request) -> Origin:
    return origin_of(request)


RequestOrigin = Annotated[Origin, Depends(_origin)]
"""The origin of a request, for routes that need no credentials."""


def origin_of(request: HTTPConnection) -> Origin:
    # behind a trusted proxy, uvicorn has put the client's own address here
    return Origin(address=request.client.host if request.client is not None else "")


def identify(state: ServerState, request: HTTPConnection) -> Identity:
    """Authenticate a request. Raise NotSignedIn without valid credentials, NotAllowed for a browser without its CSRF
    token."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and given.strip():
        return _bearer(state, given.strip(), origin_of(request))
    cookie = request.cookies.get(COOKIE)
    if cookie:
        return _session(state, cookie, request)
    raise NotSignedIn(f"this needs credentials; {_HINT}")


async def _identity(request: Request, _described: _Bearer) -> Identity:
    """The identity that `danlu.server.admission` found."""
    found = request.scope.get(WHO)
    if isinstance(found, DanluError):
        raise found
    if found is None:
        raise NotSignedIn(f"this needs credentials; {_HINT}")
    return cast("Identity", found)


CurrentIdentity = Annotated[Identity, Depends(_identity)]
"""Users and jobs."""


async def _user(who: CurrentIdentity) -> UserIdentity:
    if isinstance(who, JobIdentity):
        raise NotAllowed(f"only users may do this; {who.job_id} is a job, and no `access` setting of a job allows it")
    return who


async def _reader(who: CurrentIdentity) -> UserIdentity:
    return rights.check_acts(who, JobAccess.READ) if isinstance(who, JobIdentity) else who


async def _actor(who: CurrentIdentity) -> UserIdentity:
    return rights.check_acts(who, JobAccess.OWNER) if isinstance(who, JobIdentity) else who


CurrentUser = Annotated[UserIdentity, Depends(_user)]
"""Users only."""

CurrentReader = Annotated[UserIdentity, Depends(_reader)]
"""Users, and jobs that may read what their owner may (`access: read`)."""

CurrentActor = Annotated[UserIdentity, Depends(_actor)]
"""Users, and jobs that act for their owner (`access: owner`)."""


def person_of(who: Identity) -> str:
    """Name under which requests are scheduled: one for a user with all their keys, one for all their jobs."""
    if isinstance(who, JobIdentity):
        return f"{JOBS}{who.owner_id}"
    return f"user {who.user_id}" if who.job is None else f"{JOBS}{who.user_id}"


def sender_of(who: Identity) -> str:
    """Name under which uploads are limited: each job has its own, so that its results do not wait for another's."""
    if isinstance(who, JobIdentity):
        return f"job {who.job_id}"
    return f"user {who.user_id}" if who.job is None else f"job {who.job.job_id}"


def _bearer(state: ServerState, credentials: str, origin: Origin) -> Identity:
    if credentials.startswith(secrets.TOKEN_PREFIX):
        return with_origin(state.database.read(job_identity, credentials), origin)
    parts = secrets.split_api_key(credentials)
    if parts is None:
        raise NotSignedIn(f"this is not an API key; {_HINT}")
    key_id, secret = parts
    now = state.now()
    with state.database.reading() as session:
        found = people.get_key(session, key_id)
        if found is None:
            raise NotSignedIn(f"the API key is unknown or was deleted; {_HINT}")
        key, user = found
        if not secrets.same(key.digest, secrets.digest(secret)):
            raise NotSignedIn(f"the API key is unknown or was deleted; {_HINT}")
        if key.expires_at is not None and key.expires_at < now:
            raise NotSignedIn(f"the API key expired on {key.expires_at:%Y-%m-%d}; {_HINT}")
        who = identity_of(session, user)
    if key.last_used_at is None or now - key.last_used_at > TOUCH_EVERY:
        state.database.write(people.touch_key, key_id, now)
    return replace(who, origin=replace(origin, via=f"key {key_id}"), key_ends_at=key.expires_at)


def _session(state: ServerState, cookie: str, request: HTTPConnection) -> UserIdentity:
    who, csrf = browser_session(state, cookie, origin_of(request))
    if request.scope["method"] not in SAFE_METHODS and not secrets.same(request.headers.get(CSRF_HEADER, ""), csrf):
        raise NotAllowed(f"requests of a browser that change something carry the header {CSRF_HEADER}")
    return who


def browser_session(state: ServerState, cookie: str, origin: Origin) -> tuple[UserIdentity, str]:
    """The user of a session, and its CSRF token."""
    with state.database.reading() as session:
        row = people.get_session(session, secrets.digest(cookie))
        if row is None or row.expires_at < state.now():
            raise NotSignedIn("the browser session has expired; sign in again")
        who = user_identity(session, row.user_id)
    return replace(who, origin=replace(origin, via=session_id(row.digest))), row.csrf


def user_identity(session: Session, user_id: int) -> UserIdentity:
    return identity_of(session, people.get_user(session, user_id))


def identity_of(session: Session, user: UserRow | None) -> UserIdentity:
    if user is None or not user.is_active:
        raise NotSignedIn("the account is not active; ask an admin")
    roles = {project_id: Role(role) for project_id, role in people.roles_of(session, user.id).items()}
    archived = projects.archived_ids(session)
    return UserIdentity(
        user_id=user.id,
        name=user.name,
        is_admin=user.is_admin,
        roles=roles,
        default_project=user.default_project_id,
        archived=archived,
    )


@overload
def identity_now(session: Session, state: ServerState, who: UserIdentity) -> UserIdentity: ...


@overload
def identity_now(session: Session, state: ServerState, who: Identity) -> Identity: ...


def identity_now(session: Session, state: ServerState, who: Identity) -> Identity:
    """The same user or job with current rights, after a long operation. Raise NotSignedIn when their credentials are no
    longer valid."""
    if isinstance(who, JobIdentity):
        return with_origin(of_attempt(session, who.job_id, who.attempt), who.origin)
    if who.job is not None:
        return acting_now(session, who, who.job)
    if not _is_still(session, who, state.now()):
        raise NotSignedIn("you were signed out meanwhile; nothing was changed")
    now = user_identity(session, who.user_id)
    return replace(now, origin=who.origin, key_ends_at=who.key_ends_at)


def _is_still(session: Session, who: UserIdentity, now: datetime) -> bool:
    """Whether the account and the credentials of a request are still valid."""
    user = people.get_user(session, who.user_id)
    if user is None or not user.is_active:
        return False
    kind, _, name = who.origin.via.partition(" ")
    if kind == "session":
        return people.has_session(session, who.user_id, name)
    found = people.get_key(session, name) if kind == "key" else None
    if found is None:
        return kind != "key"
    return found[0].expires_at is None or found[0].expires_at > now


def session_id(digest: str) -> str:
    """The name of a session that users see."""
    return f"session {digest[:SESSION_ID_CHARS]}"


def session_end(now: datetime) -> datetime:
    return now + timedelta(days=14)
