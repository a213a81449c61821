"""The rules of signing in: one-time links and passwords, and delays after wrong passwords."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from danlu.auth import secrets, throttle
from danlu.auth.identity import Origin, UserIdentity
from danlu.errors import NotSignedIn, TooManyRequests
from danlu.server.audit.service import record_action
from danlu.server.identity import identity_of, session_end, session_id
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.units import show_duration
from danlu.store.queries import failures, people
from danlu.wire.auth import SessionOut

WRONG = "the name or the password is wrong, or an admin has not approved your account yet"
FAMILIAR_FOR = timedelta(days=90)


def open_session(
    session: Session, state: ServerState, user_id: int, origin: Origin, *, way: str
) -> tuple[SessionOut, str]:
    """Open a session for a user who has authenticated."""
    now = state.now()
    who = identity_of(session, people.get_user(session, user_id))
    cookie, csrf = secrets.make_token(), secrets.make_token()
    digest = secrets.digest(cookie)
    people.delete_old_sessions(session, now)
    people.add_session(session, user_id, digest=digest, csrf=csrf, expires_at=session_end(now))
    people.touch_user(session, user_id, now)
    failures.make_familiar(session, user_id, throttle.network_of(origin.address), at=now, since=now - FAMILIAR_FOR)
    signed_in = replace(who, origin=replace(origin, via=session_id(digest)))
    record_action(session, signed_in, Action.SESSION_OPEN, f"user/{who.name}", at=now, way=way)
    return SessionOut(user=who.name, csrf=csrf), cookie


def sign_out(session: Session, who: UserIdentity, cookie: str, now: datetime) -> None:
    if people.delete_session(session, secrets.digest(cookie)):
        record_action(session, who, Action.SESSION_CLOSE, f"user/{who.name}", at=now)


def count_registering(session: Session, origin: Origin, now: datetime) -> None:
    """Every registration counts, so that one address cannot fill the list."""
    _count(session, (throttle.count_for_registering(origin.address),), now, "registrations from this address")


def by_link(
    session: Session, state: ServerState, token: str, new_hash: str | None, origin: Origin
) -> tuple[SessionOut, str]:
    """Sign in with a link, and store the new password if there is one."""
    now = state.now()
    user_id = people.take_link(session, secrets.digest(token), now)
    if user_id is None:
        raise used_up()
    if new_hash is not None:
        who = replace(identity_of(session, people.get_user(session, user_id)), origin=replace(origin, via="link"))
        store_password(session, who, new_hash, now)
    return open_session(session, state, user_id, origin, way="link")


def used_up() -> NotSignedIn:
    return NotSignedIn(
        "the sign-in link was used or has expired; ask an admin for a new one (admins: `danlu up --new-link`)"
    )


def store_password(session: Session, who: UserIdentity, hashed: str, now: datetime, *, but_session: str = "") -> None:
    people.set_password(session, who.user_id, hashed)
    people.delete_access(session, who.user_id, keys=False, but_session=but_session)
    record_action(session, who, Action.USER_PASSWORD, f"user/{who.name}", at=now)


def count_try(
    session: Session, name: str, address: str, now: datetime
) -> tuple[tuple[throttle.Count, ...], int, str | None]:
    """Count a try, or raise TooManyRequests. Return the counts before it, the user's id and their password hash."""
    user = people.user_by_name(session, name)
    user_id = user.id if user is not None else 0
    place = throttle.network_of(address)
    is_familiar = failures.is_familiar(session, user_id, place, since=now - FAMILIAR_FOR)
    counts = throttle.counts_for(name, address, is_familiar=is_familiar)
    return _count(session, counts, now, "wrong passwords"), user_id, user.password_hash if user is not None else None


def _count(
    session: Session, counts: tuple[throttle.Count, ...], now: datetime, what: str
) -> tuple[throttle.Count, ...]:
    failures.delete_old_failures(session, now - throttle.FORGOTTEN_AFTER)
    rows = failures.failures(session, [count.key for count in counts])
    known = tuple(
        replace(count, count=rows[count.key].count, last_at=rows[count.key].last_at) if count.key in rows else count
        for count in counts
    )
    seconds = throttle.wait_seconds(known, now)
    if seconds:
        raise TooManyRequests(f"too many {what}; try again in {show_duration(seconds)}", retry_after_seconds=seconds)
    for count in known:
        failures.set_failure(session, count.key, count=count.count + 1, at=now)
    return known


def take_back(session: Session, counts: tuple[throttle.Count, ...]) -> None:
    """After a right password: reset the count of the pair, and subtract this try from the others."""
    rows = failures.failures(session, [count.key for count in counts])
    for count in counts:
        row = rows.get(count.key)
        if row is None:
            continue
        if count.limit is throttle.PAIR or row.count <= 1:
            failures.delete_failures(session, [count.key])
        else:
            failures.set_failure(session, count.key, count=row.count - 1, at=row.last_at)
