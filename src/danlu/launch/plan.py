"""What would be started, as data: printable, comparable, and free of secrets."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fetch(_Frozen):
    """An input that is brought to the task before its command starts."""

    source: str
    """`store://bucket/key` (an object or a folder), `artifact:<id>`, `tree:<digest>`, or an address elsewhere."""

    to: str
    """Absolute path in the task."""

    is_own: bool = False
    """What earlier attempts of the job left: it need not be there, and is not sent again."""


class Send(_Frozen):
    """A folder of the task whose files are brought to the store."""

    path: str
    to: str
    """`store://bucket/folder/`"""

    while_running: bool
    """Whether files are uploaded while the command runs, or only after its end."""


class Image(_Frozen):
    """Files that the command sees instead of the machine's."""

    name: str
    username: str = ""
    secret: str = ""
    """The name of the secret that is the password, if there is one."""


class Environment(_Frozen):
    """A Python, and packages that the node installs once for all jobs of a project that ask for the same."""

    file: str = ""
    """A file of the code folder that names the packages; empty when `packages` does."""

    packages: tuple[str, ...] = ()
    """Lines of a requirements file."""

    python: str = ""
    """A version such as 3.11; empty for the one that runs Danlu there."""

    project_id: int = 0

    @property
    def has_packages(self) -> bool:
        return bool(self.file or self.packages)


class Mount(_Frozen):
    """A folder that outlives the job."""

    kind: Literal["home", "shared"]
    """`home`: of one person. `shared`: of one project."""

    name: str
    """Whose it is, as one part of a path: a person's login name, or a project's number."""

    to: str
    """Absolute path in the task."""


class Gate(_Frozen):
    """A step before the command that has to end well; what fails before it is passed has a reason of its own."""

    name: str
    reason: str
    """A code of the catalogue."""

    passed: str
    """Absolute path in the task of a file that exists once the step has ended well."""


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

    gates: tuple[Gate, ...]
    """In the order in which they are passed."""

    workdir: str
    env: dict[str, str]
    files: dict[str, str]
    """Absolute path in the task -> text. One that begins with `#!` can be executed."""

    folders: tuple[str, ...]
    """Folders that exist before the command starts."""

    inputs: tuple[Fetch, ...]
    outputs: tuple[Send, ...]
    cpus: float | None
    memory_bytes: int | None
    user: str = ""
    """The name that its processes go by; the engine's own when empty. Tasks of one name may share files."""

    mounts: tuple[Mount, ...] = ()
    image: Image | None = None
    environment: Environment | None = None
    log_copy: str = ""
    """Absolute path in a mount of a file that gets a copy of the log; empty for none."""


class Plan(_Frozen):
    """An attempt: all of its tasks start, or none."""

    job_id: str
    attempt: int
    grace_seconds: float
    has_own_network: bool = True
    """Whether its tasks get a private network where the node can make one."""

    tasks: tuple[TaskPlan, ...]
