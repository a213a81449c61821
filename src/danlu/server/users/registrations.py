"""The rules of registrations. If an admin has to approve them, the response is the same whether a name
is taken or not."""

from __future__ import annotations

import secrets as random

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Origin, Stranger, UserIdentity
from danlu.errors import Conflict, NotFound, Unavailable
from danlu.server.audit.service import record_action
from danlu.server.paging import page_of
from danlu.server.state import ServerState
from danlu.server.users.service import add_person, join, user_out
from danlu.spec.audit import Action
from danlu.store.queries import people, registrations
from danlu.store.sql.tables import RegistrationRow
from danlu.wire.base import Page
from danlu.wire.people import Approve, Register, RegisteredOut, RegistrationOut, RoleName, UserOut

MAX_WAITING = 1000
WAITS = "an admin has to approve your account; after that `danlu login --name` works with your password"


def new_registration(state: ServerState, origin: Origin, **fields: str | None) -> RegistrationRow:
    now = state.now()
    # the time first, so that ids sort by it
    number = f"{int(now.timestamp() * 1000):011x}{random.token_hex(3)[:5]}"
    return RegistrationRow(id=number, address=origin.address, created_at=now, **fields)


def add_registration(session: Session, row: RegistrationRow, who: Stranger) -> None:
    if registrations.num_registrations(session) >= MAX_WAITING:
        raise Unavailable(f"{MAX_WAITING} registrations are pending; ask an admin to approve or reject them")
    registrations.add_registration(session, row)
    record_action(session, who, Action.REGISTRATION_MAKE, f"registration/{row.id}", at=row.created_at, name=row.name)


def list_registrations(session: Session, who: UserIdentity, *, after: str, limit: int) -> Page[RegistrationOut]:
    rights.check_admin(who)
    found = registrations.list_registrations(session, after=after, limit=limit + 1)
    return page_of([_out(session, row) for row in found], limit, lambda row: row.id)


def approve(session: Session, state: ServerState, who: UserIdentity, registration_id: str, body: Approve) -> UserOut:
    rights.check_admin(who)
    rights.check_lasting(who, "an approved account")
    row, now = _find(session, registration_id), state.now()
    if body.link is not None:
        return _link(session, state, who, row, body.link)
    name = body.name or row.name
    if people.user_by_name(session, name) is not None:
        raise Conflict(f"the name {name!r} is taken; give another: danlu users approve {row.id} --name NAME")
    user = add_person(session, name, full_name=row.full_name, email=row.email, at=now)
    user.password_hash = row.password_hash
    if row.issuer is not None and row.subject is not None:
        registrations.add_subject(session, row.issuer, row.subject, user.id)
    join(session, who, user, body.project, body.role, now)
    registrations.delete_registration(session, row.id)
    record_action(session, who, Action.REGISTRATION_APPROVE, f"registration/{row.id}", at=now, user=name)
    return user_out(session, who, user)


def _link(session: Session, state: ServerState, who: UserIdentity, row: RegistrationRow, name: str) -> UserOut:
    """Link a registration by OpenID Connect to an existing user."""
    user = people.user_by_name(session, name)
    if user is None:
        raise NotFound(f"no user {name!r}; `danlu users ls` lists them")
    if row.issuer is None or row.subject is None:
        raise Conflict(f"{row.id} was not registered by OpenID Connect and cannot be linked; approve or reject it")
    registrations.add_subject(session, row.issuer, row.subject, user.id)
    registrations.delete_registration(session, row.id)
    record_action(
        session, who, Action.REGISTRATION_APPROVE, f"registration/{row.id}", at=state.now(), user=name, is_link=True
    )
    return user_out(session, who, user)


def reject(session: Session, state: ServerState, who: UserIdentity, registration_id: str) -> None:
    rights.check_admin(who)
    row = _find(session, registration_id)
    registrations.delete_registration(session, row.id)
    record_action(session, who, Action.REGISTRATION_REJECT, f"registration/{row.id}", at=state.now(), name=row.name)


def let_in(session: Session, state: ServerState, body: Register, hashed: str, origin: Origin) -> RegisteredOut:
    """Create an account at once. Open registration has to report that a name is taken; tries per
    address are limited."""
    now = state.now()
    user = add_person(session, body.name, full_name=body.full_name, email=body.email, at=now)
    user.password_hash = hashed
    record_action(session, Stranger(origin), Action.REGISTRATION_MAKE, f"user/{body.name}", at=now, name=body.name)
    join(session, Stranger(origin), user, state.settings.join_project, RoleName.MEMBER, now)
    return RegisteredOut(is_active=True, message=f"your account is ready; sign in with: danlu login --name {body.name}")


def ask(session: Session, state: ServerState, body: Register, hashed: str, origin: Origin) -> RegisteredOut:
    """Store a registration until an admin decides."""
    row = new_registration(
        state,
        origin,
        name=body.name,
        full_name=body.full_name,
        email=body.email,
        note=body.note,
        password_hash=hashed,
    )
    add_registration(session, row, Stranger(origin))
    return RegisteredOut(is_active=False, message=WAITS)


def _find(session: Session, registration_id: str) -> RegistrationRow:
    row = registrations.get_registration(session, registration_id)
    if row is None:
        raise NotFound(f"no registration {registration_id!r}; `danlu users ls` lists the pending ones")
    return row


def _out(session: Session, row: RegistrationRow) -> RegistrationOut:
    return RegistrationOut(
        id=row.id,
        name=row.name,
        is_name_taken=people.user_by_name(session, row.name) is not None,
        full_name=row.full_name,
        email=row.email,
        note=row.note,
        issuer=row.issuer,
        address=row.address,
        created_at=row.created_at,
    )
