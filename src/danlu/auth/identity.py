"""Who is asking."""

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
    """A person, by API key or browser session; or a job that acts for them, with less than their rights."""

    user_id: int
    name: str
    is_admin: bool
    roles: dict[int, Role] = field(default_factory=dict)
    """Project id -> role."""

    default_project: int | None = None
    """Where things go that name no project; None: they have not joined one that they may add to."""

    archived: frozenset[int] = frozenset()
    """Ids of the projects, among those that one sees, that are not to be changed any more."""

    origin: Origin = Origin()

    key_ends_at: datetime | None = None
    """When the API key that the request came with expires; None for a browser session, and for a key without end."""

    job: ActingJob | None = None
    """The job that acts for the person; None: they themselves."""


@dataclass(frozen=True, slots=True)
class StoreGrant:
    """A path that a job may use, in the bucket that was meant when its owner's rights were checked."""

    path: str
    """As it is in the job, `store://` with a bucket's name."""

    bucket_id: str
    """Empty: no bucket has it."""


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
    """Inputs that are artifacts, or models with the files of one: as the job names them -> id of the version."""

    owner_id: int = 0
    """Whose job it is."""

    projects: frozenset[int] | None = frozenset()
    """What its owner sees now, and its own project; None: all. What lies elsewhere is not the job's any more."""

    origin: Origin = Origin()
    access: JobAccess = JobAccess.OWN
    owner: UserIdentity | None = None
    """Its owner as the job acts for them: a member of the job's project at most, a viewer of their other projects,
    never an admin. None unless the job's access allows it, and while the account is disabled."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A request without valid credentials."""

    origin: Origin = Origin()


Identity = UserIdentity | JobIdentity
