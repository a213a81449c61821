"""Signing in, users and API keys on the wire."""

from __future__ import annotations

from typing import Optional

from pydantic import Field

from danlu.wire.base import Answer, Body, Moment


class SignIn(Body):
    """A one-time link's token, or a name and a password."""

    token: Optional[str] = Field(default=None, max_length=200)
    name: Optional[str] = Field(default=None, max_length=100)
    password: Optional[str] = Field(default=None, max_length=1000)


class SessionOut(Answer):
    """A browser session. The session itself is in a cookie that scripts cannot read."""

    user: str
    csrf: str
    """Goes into the header X-Danlu-CSRF of every request that changes something."""


class MeOut(Answer):
    name: str
    is_admin: bool
    projects: list[str]


class SetPassword(Body):
    password: str = Field(min_length=8, max_length=1000)


class MakeKey(Body):
    name: str = Field(default="", max_length=100)
    expires_in_days: Optional[int] = Field(default=None, ge=1, le=3650)


class KeyOut(Answer):
    id: str
    name: str
    created_at: Moment
    expires_at: Optional[Moment] = None
    last_used_at: Optional[Moment] = None


class NewKeyOut(KeyOut):
    api_key: str
    """The whole key. Shown this once."""
