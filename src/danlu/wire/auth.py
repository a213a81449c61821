"""Signing in, users and API keys on the wire."""

from __future__ import annotations

from typing import Optional

from pydantic import Field

from danlu.spec.job import JobAccess
from danlu.wire.base import Answer, Body, Moment
from danlu.wire.people import Line, Password, RoleName


class SignIn(Body):
    """A one-time link's token, or a name and a password."""

    token: Optional[str] = Field(default=None, max_length=200)
    name: Optional[str] = Field(default=None, max_length=100)
    password: Optional[str] = Field(default=None, max_length=1000)
    new_password: Optional[Password] = None
    """With a token: the password to have from now on. It ends other sessions and other links."""


class SessionOut(Answer):
    """A browser session. The session itself is in a cookie that scripts cannot read."""

    user: str
    csrf: str
    """Goes into the header X-Danlu-CSRF of every request that changes something."""


class MeOut(Answer):
    name: str
    is_admin: bool
    projects: list[str]
    roles: dict[str, RoleName] = {}
    """Project -> role."""

    full_name: str = ""
    email: str = ""
    has_password: bool = False
    default_project: Optional[str] = None
    """Where your jobs go that name no project."""

    csrf: str = ""
    """For a browser session: the word that goes into X-Danlu-CSRF. A page of another site cannot read it."""

    job: Optional[str] = None
    """For a job's token: the job. `name` is its owner."""

    attempt: Optional[int] = None
    access: Optional[JobAccess] = None
    """What it may do."""


class SetPassword(Body):
    password: Password
    current: Optional[str] = Field(default=None, max_length=1000)
    """The password so far, where there is one."""


class SetDefaultProject(Body):
    project: str = Field(min_length=1, max_length=100)


class MakeKey(Body):
    name: Line = Field(default="", max_length=100)
    expires_in_days: Optional[int] = Field(default=None, ge=1, le=3650)
    """No end when omitted. Asked for with a key that ends, the new one must not end later."""

    signs: bool = False
    """Whether it signs requests of Tencent Cloud's SDK, where the server answers those."""


class KeyOut(Answer):
    id: str
    name: str
    user: str = ""
    """Whose it is."""

    created_at: Moment
    expires_at: Optional[Moment] = None
    last_used_at: Optional[Moment] = None


class NewKeyOut(KeyOut):
    api_key: str
    """The whole key. Shown this once."""
