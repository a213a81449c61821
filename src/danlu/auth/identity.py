"""Who is asking."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

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
    """`key <id>`, `session <id>` or `token`; never a secret."""


@dataclass(frozen=True, slots=True)
class UserIdentity:
    """A person, by API key or browser session."""

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


@dataclass(frozen=True, slots=True)
class StoreGrant:
    """A path that a job may use, in the bucket that was meant when its owner's rights were checked."""

    path: str
    """As it is in the job, `store://` with a bucket's name."""

    bucket_id: str
    """Empty: no bucket has it."""


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """An attempt of a job, by its token: reads its inputs, writes its output, nothing else."""

    job_id: str
    attempt: int
    project_id: int
    reads: tuple[StoreGrant, ...]
    """Its data and code."""

    tree: str | None
    writes: StoreGrant
    """The folder of its results."""

    projects: frozenset[int] | None = frozenset()
    """What its owner sees now, and its own project; None: all. What lies elsewhere is not the job's any more."""

    origin: Origin = Origin()


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody who is not signed in (yet)."""

    origin: Origin = Origin()


Identity = UserIdentity | JobIdentity
