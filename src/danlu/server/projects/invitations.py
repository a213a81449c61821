"""The rules of invitations: an owner invites, the user decides.

Owners can add no members without their consent, since owners of a project may enter the jobs that run in it. The
response to an invitation is the same whether or not the user exists.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from danlu.auth.identity import Role, UserIdentity
from danlu.errors import Conflict, NotFound
from danlu.server.audit.service import record_action
from danlu.server.invalid import bad_field
from danlu.server.projects.members import add_member
from danlu.server.projects.service import project_out
from danlu.server.scope import find_project_to_own
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.store.queries import invitations, people, projects
from danlu.store.sql.rights_tables import InvitationRow
from danlu.store.sql.tables import ProjectRow
from danlu.wire.people import RoleName
from danlu.wire.projects import InvitationOut, InviteMember, ProjectOut

LIFE = timedelta(days=14)
MAX_OF_PROJECT = 100


def invite(session: Session, state: ServerState, who: UserIdentity, project: str, body: InviteMember) -> InvitationOut:
    """Invite a user to become a member. A repeated invitation replaces the earlier one."""
    row, now = find_project_to_own(session, who, project), state.now()
    if any(member.name == body.user for member in projects.members(session, row.id)):
        raise bad_field("user", f"{body.user!r} is a member already; change their role: danlu projects add")
    invitations.delete_expired(session, now)
    before = invitations.find_invitation(session, row.id, body.user)
    if before is not None:
        invitations.delete_invitation(session, before)
    elif invitations.num_of_project(session, row.id) >= MAX_OF_PROJECT:
        raise Conflict(f"{MAX_OF_PROJECT} invitations to {project!r} are pending; withdraw some of them")
    person = people.user_by_name(session, body.user)
    made = InvitationRow(
        id=secrets.token_hex(16),
        project_id=row.id,
        name=body.user,
        user_id=None if person is None else person.id,
        role=body.role.value,
        invited_by=who.user_id,
        created_at=now,
        expires_at=now + LIFE,
    )
    invitations.add_invitation(session, made)
    _record(session, state, who, Action.MEMBER_INVITE, row, made)
    return _out(made, project=row.name, invited_by=who.name)


def list_of_project(session: Session, state: ServerState, who: UserIdentity, project: str) -> list[InvitationOut]:
    row = find_project_to_own(session, who, project)
    return _all_out(session, [one for one in invitations.of_project(session, row.id) if one.expires_at > state.now()])


def withdraw(session: Session, state: ServerState, who: UserIdentity, project: str, user: str) -> None:
    row = find_project_to_own(session, who, project)
    found = invitations.find_invitation(session, row.id, user)
    if found is None or found.expires_at <= state.now():
        raise NotFound(f"{user!r} is not invited to {project!r}; `danlu projects invitations {project}` lists who is")
    _record(session, state, who, Action.MEMBER_WITHDRAW, row, found)
    invitations.delete_invitation(session, found)


def list_mine(session: Session, state: ServerState, who: UserIdentity) -> list[InvitationOut]:
    """The user's own invitations."""
    return _all_out(session, [one for one in invitations.of_user(session, who.user_id) if one.expires_at > state.now()])


def accept(session: Session, state: ServerState, who: UserIdentity, invitation: str) -> ProjectOut:
    """Become a member. A user who is one already keeps their role."""
    found, row = _find(session, state, who, invitation)
    inviter = people.get_user(session, found.invited_by)
    is_owner = people.roles_of(session, found.invited_by).get(row.id) == Role.OWNER.value
    if inviter is None or not inviter.is_active or not (is_owner or inviter.is_admin):
        raise Conflict(f"the user who invited you no longer owns {row.name!r}; ask an owner of it to invite you again")
    user = people.get_user(session, who.user_id)
    assert user is not None, "the user of a request exists"
    if row.id not in people.roles_of(session, user.id):
        add_member(session, row.id, user, RoleName(found.role))
    _record(session, state, who, Action.MEMBER_ACCEPT, row, found)
    invitations.delete_invitation(session, found)
    return project_out(session, who, row)


def decline(session: Session, state: ServerState, who: UserIdentity, invitation: str) -> None:
    found, row = _find(session, state, who, invitation)
    _record(session, state, who, Action.MEMBER_DECLINE, row, found)
    invitations.delete_invitation(session, found)


def _find(session: Session, state: ServerState, who: UserIdentity, invitation: str) -> tuple[InvitationRow, ProjectRow]:
    """One of the user's own invitations that has not expired."""
    found = invitations.get_invitation(session, invitation)
    if found is None or found.user_id != who.user_id or found.expires_at <= state.now():
        raise NotFound(f"no invitation {invitation[:40]!r} of yours; `danlu projects invitations` lists them")
    row = projects.get_project(session, found.project_id)
    assert row is not None  # a foreign key
    return found, row


def _all_out(session: Session, rows: Sequence[InvitationRow]) -> list[InvitationOut]:
    names = people.projects_by_id(session)
    inviters = people.names_of_users(session, {row.invited_by for row in rows})
    return [_out(row, project=names[row.project_id], invited_by=inviters[row.invited_by]) for row in rows]


def _out(row: InvitationRow, *, project: str, invited_by: str) -> InvitationOut:
    return InvitationOut(
        id=row.id,
        project=project,
        user=row.name,
        role=RoleName(row.role),
        invited_by=invited_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def _record(
    session: Session, state: ServerState, who: UserIdentity, action: Action, row: ProjectRow, found: InvitationRow
) -> None:
    told = {"user": found.name, "role": found.role}
    record_action(session, who, action, f"project/{row.name}", at=state.now(), project_id=row.id, **told)
