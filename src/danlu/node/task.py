"""What an engine tells a node about a task: the file `task.json` in its folder, written and read here alone.

Engine and node may have different versions of Danlu. Within a version fields are only added, with a default: readers
ignore fields that they do not know. What changes the meaning of a field, or removes one, makes a new version, and
readers refuse a version that is not theirs before anything is started.

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
"""What answers a gang that has been started."""

_T = TypeVar("_T")


class TaskUnreadable(Exception):
    """The file is of another version, or is not a task."""


class TaskInput(NamedTuple):
    """Something that is fetched before the command starts."""

    source: str
    """`store://bucket/key` (an object or a folder), `artifact:<id>`, `tree:<digest>`, or an address elsewhere."""

    to: str
    """Path on the node."""

    is_own: bool = False
    """What earlier attempts left: it need not exist, and is not sent again."""


class TaskOutput(NamedTuple):
    """A folder whose files are uploaded."""

    path: str
    """Path on the node."""

    to: str
    """`store://bucket/folder/`"""

    while_running: bool


class TaskGate(NamedTuple):
    """A step before the command that has to end well."""

    name: str
    reason: str
    """A code of the catalogue when it does not."""

    passed: str
    """Path on the node of a file that exists once the step has ended well."""


class TaskImage(NamedTuple):
    """The image whose files the command sees."""

    name: str
    tool: str
    """Path of podman or docker, or `danlu`: we fetch it ourselves."""

    cache: str
    """Folder of unpacked images."""

    fetch: tuple[str, ...]
    """The command that fetches it; the task's folder is its last argument."""

    root: str
    """Where its files are in the sandbox."""

    folders: tuple[str, ...] = ()
    """Folders that it must have, for something to be mounted there."""

    laid: Mapping[str, str] = {}
    """Path in the task -> what is laid there, a folder or a file of the node."""

    username: str = ""
    secret: str = ""
    """Name of the secret that is the password."""

    tool_options: tuple[str, ...] = ()
    """What the program is always told."""

    tool_env: Mapping[str, str] = {}
    """Variables by which it finds its own files, and a proxy."""

    max_bytes: int = 0
    """How much all unpacked images of the node may take; the oldest go first. 0: any amount."""

    libraries: tuple[str, ...] = ()
    """Folders in the task with libraries of the machine's drivers."""

    variables: Mapping[str, str] = {}
    """What those drivers want to be set."""


class TaskEnvironment(NamedTuple):
    """Packages that are installed once on the node. Nothing is told here that only root may know."""

    python: str
    """The interpreter that the environment is for."""

    version: str
    """Of that interpreter, such as 3.11."""

    folder: str
    """Where the environments of the project are on the node."""

    place: str
    """Where tasks see theirs; empty without a sandbox: where it is."""

    step: tuple[str, ...]
    """The command that makes it; the task's folder is its last argument."""

    build: tuple[str, ...]
    """The command that installs packages, in the sandbox where there is one."""

    code: str
    """The code folder on the node."""

    file: str = ""
    packages: tuple[str, ...] = ()
    """Lines of a requirements file, when there is none in the code."""

    uv: str = ""
    """Path of the program; empty: pip is used."""

    pip: str = ""
    """The Python whose pip is used."""

    base: str = ""
    """Folder of packages that are found after those of the environment; empty: none."""

    own: tuple[str, ...] = ()
    """Folders of Danlu's own packages, for a Python that has no `base`."""

    wrap: tuple[str, ...] = ()
    """The words that make the sandbox of the build, which sees `<task>/new-environment` at `place`."""

    uid: Optional[int] = None
    """User and group id of the build; None: those of the shim."""

    max_bytes: int = 0
    """How much all environments of the node may take; the oldest go first. 0: any amount."""


class TaskLogCopy(NamedTuple):
    """Where a copy of the log goes."""

    folder: str
    """A folder that Danlu made."""

    path: str
    """Relative to it; everything on the way belongs to the job's owner."""


class TaskCache(NamedTuple):
    """Where the tasks of this node that have one owner keep what they fetched."""

    folder: str
    max_bytes: int


class TaskElsewhere(NamedTuple):
    """What inputs that are not the server's may be fetched from, and how much of it."""

    networks: tuple[str, ...] = ()
    """Networks that are allowed beside public addresses."""

    max_bytes: int = 0
    """Of one file; 0: any amount."""

    ca_file: str = ""
    """Certificates that are trusted beside those of the system."""


class TaskLease(NamedTuple):
    """How long the task may run without word from its cluster."""

    file: str
    """Written by whoever renews it, for all tasks of the node."""

    seconds: float


class TaskUsage(NamedTuple):
    """How it is measured what the task uses."""

    every_seconds: float = 0.0
    """0: not at all."""

    counts_network: bool = False
    devices: tuple[str, ...] = ()
    """`type:number` each."""

    device_file: str = ""
    """What all tasks of the node read about its devices."""

    device_reader: tuple[str, ...] = ()
    """The command that writes that file."""


class TaskLimits(NamedTuple):
    """How much of the node a task may take; 0: no limit, unless it says otherwise."""

    memory_bytes: Optional[int] = None
    cpus: Optional[float] = None
    """A share: more is given when nobody else wants it."""

    max_processes: int = 0
    """Threads are counted too."""

    max_disk_bytes: int = 0
    """0: nine tenths of what is free on the disk when the task starts."""

    kept_folders: tuple[str, ...] = ()
    """Folders that outlive it; what it adds there counts as well."""

    disk_reader: tuple[str, ...] = ()
    """The command that measures what it holds on the disk."""


class Task(NamedTuple):
    name: str
    """Unique on the node; names its control groups."""

    wrap: tuple[str, ...]
    """The words that make the sandbox, before those of init; none without a sandbox."""

    init: tuple[str, ...]
    command: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str
    server_url: str
    in_patience_seconds: float
    """How long an unreachable server is tried again before the start is given up."""

    out_patience_seconds: float
    grace_seconds: float
    """Between SIGTERM and SIGKILL when the end comes from outside of Danlu."""

    address: str = ""
    """Its address in the network of its gang; empty: the task is in the network of the machine."""

    uid: Optional[int] = None
    """User and group id of the job's processes; None: those of the shim."""

    spared: tuple[str, ...] = ()
    """Programs that a stop does not signal before the grace is over."""

    image: Optional[TaskImage] = None
    environment: Optional[TaskEnvironment] = None
    gates: tuple[TaskGate, ...] = ()
    log_copy: Optional[TaskLogCopy] = None
    stop_file: str = ""
    """Path on the node of the file that says that the task was told to end; empty: none."""

    inputs: tuple[TaskInput, ...] = ()
    elsewhere: TaskElsewhere = TaskElsewhere()
    outputs: tuple[TaskOutput, ...] = ()
    runs: str = ""
    """Folder of the journals of its runs; empty: none."""

    limits: TaskLimits = TaskLimits()
    filters_calls: bool = True
    """Whether system calls that jobs have no use for are refused. Needs the sandbox."""

    cgroups: Mapping[str, str] = {}
    """Controller -> how the paths of the node's control groups begin."""

    usage: TaskUsage = TaskUsage()
    cache: Optional[TaskCache] = None
    lease: Optional[TaskLease] = None


class Overlay(NamedTuple):
    """How the part of a gang on one node reaches its other parts."""

    id: int
    """The VXLAN's number, 24 bits, the same in all parts."""

    local: str
    """This node's own address."""

    peers: tuple[str, ...]
    """The addresses of the other nodes."""


class Gang(NamedTuple):
    """What the fork server is asked to start: tasks that start together."""

    folders: tuple[str, ...]
    """One per task; each holds a `task.json`."""

    secrets: Mapping[str, str]
    addresses: tuple[str, ...]
    """Of the network that they get; none: the network of the machine."""

    way_out: str
    """The program that leads out of that network; empty: nothing does."""

    forwarder: tuple[str, ...] = ()
    """The command that carries the API into that network; none: tasks reach the server by its own address."""

    overlay: Optional[Overlay] = None
    """None: all of the gang is on this node."""

    overlay_addresses: tuple[str, ...] = ()
    """Addresses of that network that other nodes reach."""

    closed_file: str = ""
    """The file of addresses that the way out does not lead to, beside those of this node; empty: there are none."""


def to_json(task: Task) -> str:
    return _write(task)


def from_json(text: str) -> Task:
    """Read a task. Raise TaskUnreadable, which names the field, or both versions."""
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
