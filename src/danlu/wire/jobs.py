"""Jobs, their attempts, tasks, events and plans on the wire."""

from __future__ import annotations

from typing import Any, Optional, Union

from pydantic import Field

from danlu.spec.messages.catalogue import Message
from danlu.spec.money import Money
from danlu.spec.monitoring.job_events import JobEventKind
from danlu.spec.reasons import Fault, Reason
from danlu.spec.states import AttemptState, Desired, JobState, TaskState
from danlu.wire.base import Answer, Body, Moment
from danlu.wire.frameworks import FrameworkOut


class SubmitJob(Body):
    spec: dict[str, Any]
    """The job as in a job file; checked by the server's own rules."""

    request_id: Optional[str] = Field(default=None, min_length=8, max_length=64)
    """Chosen by the client. Sent a second time (a lost answer), the first job is returned."""


class SelectJobs(Body):
    """Which jobs one operation is about."""

    jobs: list[str] = Field(min_length=1, max_length=10_000)
    """Ids or names."""


class PlanJob(Body):
    spec: dict[str, Any]
    explain: bool = False
    """Whether to say what everything in the plan is for."""


class TaskOut(Answer):
    rank: int
    role: str
    node: str
    state: TaskState
    exit_code: Optional[int] = None
    device_ids: list[int] = []
    log_bytes: int = 0
    """How much of its log can be read now."""

    started_at: Optional[Moment] = None
    ended_at: Optional[Moment] = None


class AttemptOut(Answer):
    number: int
    state: AttemptState
    reason: Reason
    said: Optional[Message] = None
    """What the reason's message says, with a code and parameters: for other languages."""

    first_failed_rank: Optional[int] = None
    last_lines: list[str] = []
    """The last lines of the rank that failed first."""

    tasks: list[TaskOut] = []
    started_at: Optional[Moment] = None
    ended_at: Optional[Moment] = None


class JobSummary(Answer):
    """A job in a list."""

    id: str
    name: str
    project: str
    owner: str
    state: JobState
    desired: Desired
    reason: Reason
    said: Optional[Message] = None
    """What the reason's message says, with a code and parameters: for other languages."""

    nodes: int
    device: str
    on: str = ""
    """Nodes and devices in a word, by role when the job has roles: `2x gpu:1 worker, 1x cpu:1 ps`."""

    launch: str
    attempt: int
    """Number of the newest attempt; 0 before the first."""

    priority: int
    tags: dict[str, str] = {}
    created_at: Moment
    started_at: Optional[Moment] = None
    ended_at: Optional[Moment] = None
    price_per_hour: Optional[Money] = None
    """Of all nodes together, as it was when the job was submitted; None without a flavor."""

    currency: Optional[str] = None
    """Of price and cost: a code of three letters."""

    cost: Optional[Money] = None
    """So far: the price for the time in which attempts held their devices; None without a flavor."""

    cost_at: Optional[Moment] = None
    """The moment up to which `cost` is counted, while it grows; None when it does not."""


class JobOut(JobSummary):
    """A job in full."""

    spec: dict[str, Any]
    """As submitted, with defaults and the resources of flavors filled in, without the values of secrets."""

    framework: Optional[FrameworkOut] = None
    """What the framework in the spec stood for when the job was submitted."""

    output: str
    """Where its results are: store://bucket/.../<job id>/"""

    run: Optional[str] = None
    """Id of the run that it has of its own, once metrics were pushed to it."""

    step: Optional[int] = None
    total_steps: Optional[int] = None
    progress: Optional[float] = None
    """step / total_steps of that run, from 0 to 1."""

    models: list[str] = []
    """Versions of models of the same project that were registered from it, such as `mnist:3`."""

    attempts: list[AttemptOut] = []
    notes: list[str] = []
    """What people should know about how it runs, such as what is not isolated."""

    notes_said: list[Message] = []


class FavouriteOut(Answer):
    """A job that you want to find again."""

    job: str
    """Its id."""

    added_at: Moment


class ReasonOut(Answer):
    """An entry of the catalogue of reasons."""

    code: str
    cause: str
    fault: Fault
    remedy: str
    is_retried: bool


class SelectedOut(Answer):
    """What became of each job of a bulk operation."""

    done: list[str]
    """Ids of the jobs it holds for now."""

    refused: dict[str, str] = {}
    """Job as asked -> why not."""

    refused_said: dict[str, Message] = {}


class EventOut(Answer):
    id: int
    at: Moment
    attempt: int
    kind: Union[JobEventKind, str]
    """A word of a newer server stays as it is."""

    message: str
    said: Optional[Message] = None
    """What the message says, with a code and parameters: for other languages."""


class FetchOut(Answer):
    source: str
    to: str


class SendOut(Answer):
    path: str
    to: str
    while_running: bool


class ImageOut(Answer):
    name: str
    username: str = ""
    secret: str = ""


class MountOut(Answer):
    kind: str
    name: str
    to: str


class VariableOut(Answer):
    """What a variable is for."""

    what: str
    what_said: Optional[Message] = None
    read_by: str
    set_by: str


class TaskExplanationOut(Answer):
    rank: int
    variables: dict[str, VariableOut]
    files: dict[str, str]
    """Path -> what it is for."""

    folders: dict[str, str]
    """Path -> what becomes of what is in it."""


class ExplanationOut(Answer):
    """What everything in a plan is for."""

    starts: list[str]
    succeeds: str
    succeeds_said: Optional[Message] = None
    notes: list[str]
    tasks: list[TaskExplanationOut]


class EnvironmentPlanOut(Answer):
    file: str = ""
    """File of the code folder that names the packages."""

    packages: list[str] = []
    python: str = ""
    """Version that was asked for; empty for the server's."""


class TaskPlanOut(Answer):
    rank: int
    role: str
    node: str
    host: str
    address: str
    device_type: str
    device_ids: list[int]
    command: list[str]
    workdir: str
    env: dict[str, str]
    files: dict[str, str]
    inputs: list[FetchOut]
    outputs: list[SendOut]
    mounts: list[MountOut] = []
    """Folders that outlive the job."""

    image: Optional[ImageOut] = None
    environment: Optional[EnvironmentPlanOut] = None
    """Packages that the node installs before, unless it has them."""


class PlanOut(Answer):
    """What would be started."""

    job_id: str
    attempt: int
    grace_seconds: float
    tasks: list[TaskPlanOut]
    price_per_hour: Optional[Money] = None
    """Of all nodes together; None without a flavor."""

    currency: Optional[str] = None
    """Of the price: a code of three letters."""

    notes: list[str] = []
    """What is not isolated where it would run, and which secrets are set (names only)."""

    notes_said: list[Message] = []

    explanation: Optional[ExplanationOut] = None
    """When it was asked for."""
