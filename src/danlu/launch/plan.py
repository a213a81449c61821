"""What an attempt starts, as data: printable, comparable, and without secrets."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fetch(_Frozen):
    """An input that is fetched before the command starts."""

    source: str
    """`store://bucket/key` (an object or a folder), `artifact:<id>`, `tree:<digest>`, or an external URL."""

    to: str
    """Absolute path in the task."""

    is_own: bool = False
    """Whether it is output of earlier attempts of the job: it may be missing, and is not uploaded again."""


class Send(_Frozen):
    """A folder of the task whose files are uploaded to the store."""

    path: str
    to: str
    """`store://bucket/folder/`"""

    while_running: bool
    """Whether files are uploaded while the command runs, or only after its end."""


class Image(_Frozen):
    """A container image for the command."""

    name: str
    username: str = ""
    secret: str = ""
    """Name of the job secret with the password; empty without one."""


class Environment(_Frozen):
    """A Python version and packages, which a node installs once for all jobs of a project that require the same."""

    file: str = ""
    """File of the code folder with the packages; empty if `packages` lists them."""

    packages: tuple[str, ...] = ()
    """Lines of a requirements file."""

    python: str = ""
    """A version such as 3.11; empty for the one that Danlu uses on the node."""

    project_id: int = 0

    @property
    def has_packages(self) -> bool:
        return bool(self.file or self.packages)


class Mount(_Frozen):
    """A folder that outlives the job."""

    kind: Literal["home", "shared"]
    """`home`: of one user. `shared`: of one project."""

    name: str
    """Its owner, as one part of a path: a user's login name, or a project's id."""

    to: str
    """Absolute path in the task."""


class Gate(_Frozen):
    """A step before the command that must succeed. If it does not, the task fails with the gate's reason."""

    name: str
    reason: str
    """A code of the catalogue."""

    passed: str
    """Absolute path in the task of a file that exists once the step has succeeded."""


class TaskPlan(_Frozen):
    """One task of an attempt."""

    rank: int
    role: str
    node: str
    host: str
    address: str
    device_type: str
    device_ids: tuple[int, ...]
    root: str
    command: tuple[str, ...]
    """Words that are executed, without a shell."""

    spared: tuple[str, ...] = ()
    """Programs, by the names that `ps` shows, that receive no SIGTERM on a stop: they would end their children before
    the grace is over. The children receive it themselves."""

    gates: tuple[Gate, ...]
    """In the order of the steps."""

    workdir: str
    env: dict[str, str]
    files: dict[str, str]
    """Absolute path in the task -> text. Files that begin with `#!` are executable."""

    folders: tuple[str, ...]
    """Folders that exist before the command starts."""

    inputs: tuple[Fetch, ...]
    outputs: tuple[Send, ...]
    cpus: float | None
    memory_bytes: int | None
    user: str = ""
    """User name of its processes; empty: the engine's default. Tasks with the same name may share files."""

    mounts: tuple[Mount, ...] = ()
    image: Image | None = None
    environment: Environment | None = None
    log_copy: str = ""
    """Absolute path of a file in a mount that gets a copy of the log; empty for none."""


class Plan(_Frozen):
    """The plan of an attempt: all of its tasks start, or none."""

    job_id: str
    attempt: int
    grace_seconds: float
    has_own_network: bool = True
    """Whether the tasks get a private network, on nodes that support it."""

    tasks: tuple[TaskPlan, ...]
