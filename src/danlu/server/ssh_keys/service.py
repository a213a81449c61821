"""SSH keys of users. No HTTP, no SQL, no commit."""

from __future__ import annotations

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import AlreadyExists, InvalidInput, NotFound
from danlu.server.audit.service import record_action
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.ssh_keys import fingerprint_of, parse_public_key
from danlu.store.queries.gateway import ssh_keys
from danlu.store.sql.ssh_key_tables import SshKeyRow
from danlu.wire.ssh_keys import AddSshKey, SshKeyOut, SshKeysOut

MAX_KEYS = 50


def list_keys(session: Session, who: UserIdentity) -> SshKeysOut:
    return SshKeysOut(items=[_out(row) for row in ssh_keys.keys_of(session, who.user_id)])


def add_key(session: Session, state: ServerState, who: UserIdentity, body: AddSshKey) -> SshKeyOut:
    """Add a key to the user's own account."""
    rights.check_lasting(who, "an SSH key")
    try:
        key = parse_public_key(body.public_key)
    except ValueError as error:
        raise InvalidInput(f"public_key: {error}", fields={"public_key": str(error)}) from error
    if len(ssh_keys.keys_of(session, who.user_id)) >= MAX_KEYS:
        raise InvalidInput(f"you have {MAX_KEYS} SSH keys, which is the maximum; remove one first")
    if ssh_keys.get_key(session, key.id, who.user_id) is not None:
        raise AlreadyExists(f"you have added this key before: {key.fingerprint}")
    name = (body.name or key.comment)[:100]
    row = SshKeyRow(id=key.id, user_id=who.user_id, name=name, kind=key.kind, created_at=state.now())
    ssh_keys.add_key(session, row)
    record_action(session, who, Action.SSH_KEY_ADD, f"ssh_key/{key.id[:16]}", at=state.now())
    return _out(row)


def remove_key(session: Session, state: ServerState, who: UserIdentity, key_id: str) -> None:
    """Remove a key. Connections that use it are closed within seconds."""
    if not ssh_keys.delete_key(session, key_id, who.user_id):
        raise NotFound(f"you have no SSH key {key_id!r}; `danlu ssh-keys ls` shows yours")
    record_action(session, who, Action.SSH_KEY_REMOVE, f"ssh_key/{key_id[:16]}", at=state.now())


def _out(row: SshKeyRow) -> SshKeyOut:
    return SshKeyOut(
        id=row.id,
        name=row.name,
        kind=row.kind,
        fingerprint=fingerprint_of(row.id),
        created_at=row.created_at,
        last_used_at=row.last_used_at,
    )
