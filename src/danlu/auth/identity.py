"""Who is asking."""

from __future__ import annotations

from dataclasses import dataclass, field

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

    archived: frozenset[int] = frozenset()
    """Ids of the projects, among those that one sees, that are not to be changed any more."""

    origin: Origin = Origin()


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """An attempt of a job, by its token: reads its inputs, writes its output, nothing else."""

    job_id: str
    attempt: int
    project_id: int
    reads: tuple[str, ...]
    """`store://` paths of its data and code."""

    tree: str | None
    writes: str
    """`store://` folder of its results."""

    origin: Origin = Origin()


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody who is not signed in (yet)."""

    origin: Origin = Origin()


Identity = UserIdentity | JobIdentity
