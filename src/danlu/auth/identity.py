"""Who is asking."""

from __future__ import annotations

from dataclasses import dataclass, field

from danlu.spec.states import Word


class Role(Word):
    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True)
class UserIdentity:
    """A person, by API key or browser session."""

    user_id: int
    name: str
    is_admin: bool
    roles: dict[int, Role] = field(default_factory=dict)
    """Project id -> role."""


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


Identity = UserIdentity | JobIdentity
