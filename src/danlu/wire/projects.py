"""Projects and their members on the wire."""

from __future__ import annotations

from typing import Annotated, Optional

from pydantic import AfterValidator

from danlu.spec.names import check_project_name, check_user_name
from danlu.wire.base import Answer, Body, Moment
from danlu.wire.people import Note, RoleName

ProjectName = Annotated[str, AfterValidator(check_project_name)]


class MakeProject(Body):
    name: ProjectName
    description: Note = ""
    owner: Optional[str] = None
    """Its first owner; the user who creates it when omitted."""

    bucket: Optional[str] = None
    """Name of a bucket that is created with it, so that its jobs have a place for code and results."""


class ChangeProject(Body):
    """Fields that are omitted stay as they are."""

    name: Optional[ProjectName] = None
    description: Optional[Note] = None
    is_archived: Optional[bool] = None
    """An archived project is read-only; it must have no active jobs."""


class SetMember(Body):
    role: RoleName


class InviteMember(Body):
    user: Annotated[str, AfterValidator(check_user_name)]
    role: RoleName = RoleName.MEMBER


class InvitationOut(Answer):
    """An invitation to a project. The user accepts or declines; it expires after two weeks."""

    id: str
    project: str
    user: str
    """As the owner wrote it. It does not reveal whether the user exists."""

    role: RoleName
    invited_by: str
    created_at: Moment
    expires_at: Moment


class MemberOut(Answer):
    name: str
    full_name: str
    role: RoleName
    is_active: bool


class ProjectSummary(Answer):
    """A project in a list."""

    name: str
    description: str
    role: Optional[RoleName] = None
    """Yours; None for an admin who is no member."""

    is_archived: bool
    created_at: Optional[Moment] = None


class ProjectOut(ProjectSummary):
    members: list[MemberOut]
    buckets: list[str]
    num_jobs: int
    num_open_jobs: int
    """Of them wait or run."""
