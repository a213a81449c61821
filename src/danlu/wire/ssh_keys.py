"""SSH keys of users, and the SSH gateway, on the wire."""

from __future__ import annotations

from typing import Optional

from pydantic import Field

from danlu.wire.base import Answer, Body, Moment


class AddSshKey(Body):
    public_key: str = Field(min_length=1, max_length=4000)
    """The line of a .pub file."""

    name: str = Field(default="", max_length=100)
    """What you call it; the comment of the key when omitted."""


class SshKeyOut(Answer):
    id: str
    name: str
    kind: str
    fingerprint: str
    """As `ssh-keygen -l` shows it."""

    created_at: Moment
    last_used_at: Optional[Moment]


class SshKeysOut(Answer):
    items: list[SshKeyOut]


class SshGatewayOut(Answer):
    host: str
    port: int
    host_key: str
    """Its public key, for known_hosts."""
