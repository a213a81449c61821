"""What an engine tells a node about a task: the file `task.json` in its folder. Only this module writes and reads it.

Engine and node may run different versions of Danlu. Within a format version fields are only added, with a default, and
readers ignore unknown fields. Removing a field or changing its meaning requires a new version, and readers reject other
versions before they start anything.

Secrets are never part of a task: they reach the shim through a pipe, as part of the gang.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import NamedTuple, Optional, TypeVar

from danlu.node.codec import Malformed, decode, encode, parse

VERSION = 1
TASK = "task.json"
OK = "ok"
"""Answer when a gang has been started."""

_T = TypeVar("_T")


class TaskUnreadable(Exception):
    """The file has another version, or is not a task."""


class TaskInput(NamedTuple):
    """An input to fetch before the command starts."""

    source: str
    """`store://bucket/key` (an object or a folder), `artifact:<id>`, `tree:<digest>`, or the URL of another server."""

    to: str
    """Path on the node."""

    is_own: bool = False
    """Output of earlier attempts: it may be missing, and is not uploaded again."""


class TaskOutput(NamedTuple):
    """A folder whose files are uploaded."""

    path: str
    """Path on the node."""

    to: str
    """`store://bucket/folder/`"""

    while_running: bool


class TaskGate(NamedTuple):
    """A step before the command that must succeed."""

    name: str
    reason: str
    """Code from the reason catalogue, used when the step fails."""

    passed: str
    """Path on the node of a file that exists once the step has succeeded."""


class TaskImage(NamedTuple):
    """The image whose files the command sees."""

    name: str
    tool: str
    """Path of podman or docker, or `danlu`: Danlu pulls the image itself."""

    cache: str
    """Folder of unpacked images."""

    fetch: tuple[str, ...]
    """Command that pulls the image; the task's folder is appended."""

    root: str
    """Path of its root folder in the sandbox."""

    folders: tuple[str, ...] = ()
    """Folders that must exist in it as mount points."""

    laid: Mapping[str, str] = {}
    """Path in the task -> folder or file of the node that is mounted there."""

    username: str = ""
    secret: str = ""
    """Name of the secret with the password."""

    tool_options: tuple[str, ...] = ()
    """Options that are always passed to the tool."""

    tool_env: Mapping[str, str] = {}
    """Variables by which the tool finds its own files and a proxy."""

    max_bytes: int = 0
    """Maximum total size of the node's unpacked images; the least recently used are removed first. 0: no limit."""

    libraries: tuple[str, ...] = ()
    """Folders in the task with libraries of the machine's drivers."""

    variables: Mapping[str, str] = {}
    """Variables for those drivers."""


class TaskEnvironment(NamedTuple):
    """Packages that are installed once on the node. Contains nothing that only root may know."""

    python: str
    """Path of the interpreter that the environment is for."""

    version: str
    """Version of that interpreter, for example 3.11."""

    folder: str
    """Folder of the project's environments on the node."""

    place: str
    """Path at which tasks see their environment; empty without a sandbox: its real path."""

    step: tuple[str, ...]
    """Command that finds or builds the environment; the task's folder is appended."""

    build: tuple[str, ...]
    """Command that installs packages, in the sandbox if there is one."""

    code: str
    """The code folder on the node."""

    file: str = ""
    packages: tuple[str, ...] = ()
    """Lines of requirements, used when there is no file."""

    uv: str = ""
    """Path of uv; empty: pip is used."""

    pip: str = ""
    """Path of a Python that has pip."""

    base: str = ""
    """Folder of packages that are searched after those of the environment; empty: none."""

    own: tuple[str, ...] = ()
    """Folders of Danlu's own packages, for a Python that has no `base`."""

    wrap: tuple[str, ...] = ()
    """Command line of the build's sandbox, which sees `<task>/new-environment` at `place`."""

    uid: Optional[int] = None
    """User and group id of the build; None: those of the shim."""

    max_bytes: int = 0
    """Maximum total size of the node's environments; the least recently used are removed first. 0: no limit."""


class TaskLogCopy(NamedTuple):
    """Where to copy the log."""

    folder: str
    """Folder that Danlu created."""

    path: str
    """Relative to that folder; everything below it belongs to the job's owner."""


class TaskCache(NamedTuple):
    """Cache of fetched files, shared by all tasks of one owner on this node."""

    folder: str
    max_bytes: int


class TaskElsewhere(NamedTuple):
    """From where inputs of other servers may be fetched, and how much."""

    networks: tuple[str, ...] = ()
    """Networks that are allowed in addition to public addresses."""

    max_bytes: int = 0
    """Per file; 0: no limit."""

    ca_file: str = ""
    """Certificates that are trusted in addition to the system's."""


class TaskLease(NamedTuple):
    """How long the task may run without contact to its cluster."""

    file: str
    """The lease of all tasks of the node, renewed by the agent."""

    seconds: float


class TaskUsage(NamedTuple):
    """How to measure the task's resource usage."""

    every_seconds: float = 0.0
    """Interval between samples; 0: off."""

    counts_network: bool = False
    devices: tuple[str, ...] = ()
    """Each as `type:number`."""

    device_file: str = ""
    """File with the usage of the node's devices, shared by all tasks."""

    device_reader: tuple[str, ...] = ()
    """The command that writes that file."""


class TaskLimits(NamedTuple):
    """Limits on the node's resources; 0: no limit, unless stated otherwise."""

    memory_bytes: Optional[int] = None
    cpus: Optional[float] = None
    """A share: more when other tasks leave cores idle."""

    max_processes: int = 0
    """Includes threads."""

    max_disk_bytes: int = 0
    """0: nine tenths of the free disk space when the task starts."""

    kept_folders: tuple[str, ...] = ()
    """Persistent folders; what the task adds there counts too."""

    disk_reader: tuple[str, ...] = ()
    """Command that measures the disk usage."""


class Task(NamedTuple):
    name: str
    """Unique on the node; used in the names of cgroups."""

    wrap: tuple[str, ...]
    """Command line of the sandbox, to which init's is appended; empty without a sandbox."""

    init: tuple[str, ...]
    command: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str
    server_url: str
    in_patience_seconds: float
    """How long to retry an unreachable server before the start fails."""

    out_patience_seconds: float
    grace_seconds: float
    """Between SIGTERM and SIGKILL when the signal comes from outside of Danlu."""

    address: str = ""
    """Address in the gang's network; empty: the task uses the network of the machine."""

    uid: Optional[int] = None
    """User and group id of the job's processes; None: those of the shim."""

    spared: tuple[str, ...] = ()
    """Names of programs that a stop does not signal before the grace period ends."""

    image: Optional[TaskImage] = None
    environment: Optional[TaskEnvironment] = None
    gates: tuple[TaskGate, ...] = ()
    log_copy: Optional[TaskLogCopy] = None
    stop_file: str = ""
    """Path on the node of the file that tells the task about a stop; empty: none."""

    inputs: tuple[TaskInput, ...] = ()
    elsewhere: TaskElsewhere = TaskElsewhere()
    outputs: tuple[TaskOutput, ...] = ()
    runs: str = ""
    """Folder of the journals of its runs; empty: none."""

    limits: TaskLimits = TaskLimits()
    filters_calls: bool = True
    """Whether seccomp blocks system calls that jobs do not need. Requires the sandbox."""

    cgroups: Mapping[str, str] = {}
    """Controller -> path prefix of the node's cgroups."""

    usage: TaskUsage = TaskUsage()
    cache: Optional[TaskCache] = None
    lease: Optional[TaskLease] = None


class Overlay(NamedTuple):
    """How the part of a gang on one node reaches its other parts."""

    id: int
    """24-bit VXLAN id, the same in all parts."""

    local: str
    """Address of this node."""

    peers: tuple[str, ...]
    """Addresses of the other nodes."""


class Gang(NamedTuple):
    """Tasks that start together: a request to the fork server."""

    folders: tuple[str, ...]
    """One per task, each with a `task.json`."""

    secrets: Mapping[str, str]
    addresses: tuple[str, ...]
    """Addresses of its private network; empty: the network of the machine."""

    way_out: str
    """Program for outgoing connections from that network; empty: there are none."""

    forwarder: tuple[str, ...] = ()
    """Command that forwards the API into that network; empty: tasks reach the server by its own address."""

    overlay: Optional[Overlay] = None
    """None: the whole gang is on this node."""

    overlay_addresses: tuple[str, ...] = ()
    """Addresses of that network that are reachable from other nodes."""

    closed_file: str = ""
    """File of addresses to block for outgoing connections, besides this node's; empty: none."""


def to_json(task: Task) -> str:
    return _write(task)


def from_json(text: str) -> Task:
    """Parse a task. Raise TaskUnreadable, which names the field or both versions."""
    return _read(Task, text)


def gang_to_json(gang: Gang) -> str:
    return _write(gang)


def gang_from_json(text: str) -> Gang:
    return _read(Gang, text)


def read_task(folder: str) -> Task:
    """Read the task of a folder. Raise TaskUnreadable or OSError."""
    path = os.path.join(folder, TASK)
    with open(path) as file:
        text = file.read()
    try:
        return from_json(text)
    except TaskUnreadable as error:
        raise TaskUnreadable(f"{path}: {error}") from error


def _write(value: tuple[object, ...]) -> str:
    fields = encode(value)
    assert isinstance(fields, dict)
    return json.dumps({"version": VERSION, **fields})


def _read(kind: type[_T], text: str) -> _T:
    try:
        found = parse(text)
        if found.get("version") != VERSION:
            told = json.dumps(found.get("version"))
            raise TaskUnreadable(
                f"version: expected {VERSION}, got {told}; server and node must run compatible versions of Danlu"
            )
        return decode(kind, found)
    except Malformed as error:
        raise TaskUnreadable(str(error)) from error
