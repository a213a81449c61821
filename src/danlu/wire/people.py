"""Users and registrations on the wire."""

from __future__ import annotations

from typing import Annotated, Optional

from pydantic import AfterValidator, Field

from danlu.spec.names import check_user_name
from danlu.spec.states import Word
from danlu.wire.base import Answer, Body, Moment

MIN_PASSWORD = 8


def _one_line(text: str) -> str:
    if any(ord(char) < 32 or ord(char) == 127 or "\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("control characters and lone surrogates are not allowed here")
    return text


def _text(text: str) -> str:
    if any((ord(char) < 32 and char not in "\n\t") or "\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("control characters and lone surrogates are not allowed here")
    return text


UserName = Annotated[str, AfterValidator(check_user_name)]
Line = Annotated[str, Field(max_length=200), AfterValidator(_one_line)]
Note = Annotated[str, Field(max_length=2000), AfterValidator(_text)]
Password = Annotated[str, Field(min_length=MIN_PASSWORD, max_length=1000)]


class PersonState(Word):
    INVITED = "invited"
    """Has a link and has not come yet."""

    ACTIVE = "active"
    DISABLED = "disabled"


class RoleName(Word):
    OWNER = "owner"
    """Decides about the project: its members, buckets and jobs."""

    MEMBER = "member"
    """Submits jobs, changes own jobs, writes files."""

    VIEWER = "viewer"
    """Looks."""


class Register(Body):
    """Request an account."""

    name: UserName
    password: Password
    full_name: Line = ""
    email: Line = ""
    note: Note = ""
    """For the admin: who you are, what you need it for."""


class RegisteredOut(Answer):
    is_active: bool
    """Whether you can sign in at once; otherwise an admin has to approve your account first."""

    message: str


class RegistrationOut(Answer):
    id: str
    name: str
    is_name_taken: bool
    """An admin has to choose another name then."""

    full_name: str
    email: str
    note: str
    issuer: Optional[str] = None
    """The OpenID Connect provider that they came from."""

    address: str
    created_at: Moment


class Approve(Body):
    name: Optional[UserName] = None
    """Another name than was asked for."""

    project: Optional[str] = None
    """A project to make them a member of."""

    role: RoleName = RoleName.MEMBER
    link: Optional[str] = None
    """An existing user who sent the request, and signs in by OpenID Connect from now on."""


class Invite(Body):
    name: UserName
    full_name: Line = ""
    email: Line = ""
    is_admin: bool = False
    project: Optional[str] = None
    role: RoleName = RoleName.MEMBER


class LinkOut(Answer):
    """A link that signs this person in, once, and lets them choose a password."""

    user: str
    url: str
    expires_at: Moment


class MakeLink(Body):
    ends_access: bool = False
    """Void the password, and end sessions and API keys at once: for an account that may be compromised."""


class UserOut(Answer):
    """A person. What only admins and the person see is None for others."""

    name: str
    full_name: str
    is_admin: bool
    state: PersonState
    email: Optional[str] = None
    has_password: Optional[bool] = None
    projects: Optional[dict[str, RoleName]] = None
    """Project -> role."""

    num_open_jobs: Optional[int] = None
    """Jobs that wait or run."""

    created_at: Moment
    signed_in_at: Optional[Moment] = None


class ChangeUser(Body):
    """Fields that are omitted stay as they are."""

    full_name: Optional[Line] = None
    email: Optional[Line] = None
    is_admin: Optional[bool] = None


class Disable(Body):
    stops_jobs: bool = False
    """Stop their jobs as well; otherwise they keep running, and owners of the project can stop them."""
