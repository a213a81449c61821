"""The identity behind a request: a user, a job, or neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from danlu.spec.job import JobAccess
from danlu.spec.states import Word


class Role(Word):
    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request came from."""

    address: str = ""
    via: str = ""
    """`key <id>`, `session <id>`, `token`, or `job <id>/<attempt>` where a job acts for its owner; never a secret."""


@dataclass(frozen=True, slots=True)
class ActingJob:
    """An attempt of a job that acts for its owner."""

    job_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class UserIdentity:
    """A user, by API key or browser session; or a job that acts for its owner, with fewer rights."""

    user_id: int
    name: str
    is_admin: bool
    roles: dict[int, Role] = field(default_factory=dict)
    """Project id -> role."""

    default_project: int | None = None
    """The project of whatever names none; None: the user has no project that they may add to."""

    archived: frozenset[int] = frozenset()
    """Ids of the visible projects that are archived: they cannot be changed."""

    origin: Origin = Origin()

    key_ends_at: datetime | None = None
    """When the API key that the request came with expires; None for a browser session, and for a key without end."""

    job: ActingJob | None = None
    """The job that acts for the user; None: the user sent the request."""


@dataclass(frozen=True, slots=True)
class StoreGrant:
    """A path that a job may use, in the bucket that had its name when the owner's rights were checked."""

    path: str
    """As written in the job: `store://` with a bucket's name."""

    bucket_id: str
    """Empty: there was no such bucket."""


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """An attempt of a job, by its token: reads its inputs, writes its output, records runs and artifacts of its own."""

    job_id: str
    attempt: int
    project_id: int
    reads: tuple[StoreGrant, ...]
    """Its data and code."""

    tree: str | None
    writes: StoreGrant
    """The folder of its results."""

    artifacts: Mapping[str, str] = field(default_factory=dict)
    """Inputs that are artifacts, or models backed by one: name in the job -> id of the version."""

    owner_id: int = 0
    """Id of the user who owns the job."""

    projects: frozenset[int] | None = frozenset()
    """Ids of the projects that its owner sees now, and of its own; None: all. Inputs in other projects are no longer
    readable."""

    origin: Origin = Origin()
    access: JobAccess = JobAccess.OWN
    owner: UserIdentity | None = None
    """The owner, with the rights that the job acts with: at most a member of the job's project, a viewer of the owner's
    other projects, never an admin. None if the job's access does not allow it, or the account is disabled."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A request without valid credentials."""

    origin: Origin = Origin()


Identity = UserIdentity | JobIdentity
