"""What would be started, as data: printable, comparable, and free of secrets."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fetch(_Frozen):
    """An input that is brought to the task before its command starts."""

    source: str
    """`store://bucket/key` (an object or a folder) or `tree:<digest>`."""

    to: str
    """Absolute path in the task."""


class Send(_Frozen):
    """A folder of the task whose files are brought to the store."""

    path: str
    to: str
    """`store://bucket/folder/`"""

    while_running: bool
    """Whether files are uploaded while the command runs, or only after its end."""


class TaskPlan(_Frozen):
    """One task: what its command sees."""

    rank: int
    role: str
    node: str
    host: str
    address: str
    device_type: str
    device_ids: tuple[int, ...]
    root: str
    command: tuple[str, ...]
    """What is executed, word for word."""

    spared: tuple[str, ...] = ()
    """Programs (as `ps` calls them) that a stop does not signal before the grace is over. They would only end sooner
    what they started, which hears the signal by itself."""

    has_setup: bool
    workdir: str
    env: dict[str, str]
    files: dict[str, str]
    """Absolute path in the task -> text."""

    folders: tuple[str, ...]
    """Folders that exist before the command starts."""

    inputs: tuple[Fetch, ...]
    outputs: tuple[Send, ...]
    cpus: float | None
    memory_bytes: int | None


class Plan(_Frozen):
    """An attempt: all of its tasks start, or none."""

    job_id: str
    attempt: int
    grace_seconds: float
    tasks: tuple[TaskPlan, ...]
