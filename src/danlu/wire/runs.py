"""Runs, their folders, series and points on the wire."""

from __future__ import annotations

from typing import Any, Optional

from pydantic import BaseModel, ConfigDict, Field

from danlu.spec.messages.catalogue import Message
from danlu.spec.runs import RUN_ID, RunState
from danlu.spec.states import Word
from danlu.wire.base import Answer, Body, Moment


class OnConflict(Word):
    """What to do when the folder has a run of that name already."""

    NEW = "new"
    SKIP = "skip"
    ERROR = "error"
    REPLACE = "replace"


class CreateRun(BaseModel):
    """The header of a run's journal. Fields of a newer client are passed over: its points must arrive all the same."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    run: str
    """Made by the client: `run-` and 26 characters of a-z and 2-7. Sent again, it names the same run."""

    name: str = Field(min_length=1, max_length=200)
    created_at: Optional[float] = Field(default=None, ge=0, le=253_402_300_799, allow_inf_nan=False)
    """Seconds since 1970, by the client's clock."""

    project: Optional[str] = Field(default=None, max_length=100)
    folder: Optional[str] = Field(default=None, max_length=500)
    labels: list[str] = Field(default=[], max_length=100)
    description: str = Field(default="", max_length=100_000)
    group: Optional[str] = Field(default=None, max_length=200)
    """A word that several runs share."""

    parent: Optional[str] = Field(default=None, pattern=RUN_ID)
    """The id of the run that it is a part of."""

    hparams: dict[str, Any] = {}
    job: Optional[str] = Field(default=None, max_length=40)
    attempt: Optional[int] = Field(default=None, ge=0, lt=2**31)
    environment: dict[str, Any] = {}
    """What was captured: command, commit, host, packages."""

    make_folder: bool = True
    """False: refuse when the folder does not exist."""

    conflict: OnConflict = OnConflict.NEW


class ChangeRun(Body):
    """What is omitted stays as it is."""

    name: Optional[str] = Field(default=None, min_length=1, max_length=200)
    folder: Optional[str] = Field(default=None, max_length=500)
    labels: Optional[list[str]] = Field(default=None, max_length=100)
    description: Optional[str] = Field(default=None, max_length=100_000)
    make_folder: bool = True


class MetricOut(Answer):
    """A series, rolled up over all of its points."""

    type: str
    """train, val, test, system, or a word of the user's; may be empty."""

    name: str
    num_points: int
    step: int
    """Of the last point."""

    epoch: Optional[float] = None
    last: Optional[float] = None
    """None when it is not a finite number; `odd` says what it is."""

    odd: Optional[str] = None
    """nan, inf or -inf, when that is the last value."""

    low: Optional[float] = None
    high: Optional[float] = None


class RunSummary(Answer):
    """A run in a list."""

    id: str
    name: str
    project: str
    folder: str
    owner: str
    state: RunState
    job: Optional[str] = None
    attempt: Optional[int] = None
    is_own: bool = False
    """Whether it is the run that its job has of its own."""

    group: Optional[str] = None
    """A word that several runs share."""

    parent: Optional[str] = None
    """The id of the run that it is a part of; you may not see that one."""

    labels: list[str] = []
    hparams: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    metrics: list[MetricOut] = []
    """Without the use of the machine; at most 50."""

    step: Optional[int] = None
    epoch: Optional[float] = None
    total_steps: Optional[int] = None
    progress: Optional[float] = None
    """step / total_steps, where that is known."""

    num_points: int = 0
    created_at: Moment
    started_at: Moment
    ended_at: Optional[Moment] = None
    deleted_at: Optional[Moment] = None
    """Since when it is in the trash."""


class JournalOut(Answer):
    name: str
    writer: str
    branch: int
    offset: int
    """Bytes that have arrived."""

    output_bytes: int
    """Bytes that its process printed."""


class BranchOut(Answer):
    branch: int
    from_step: Optional[int] = None
    """Older branches are hidden from here on; None while it has no points."""


class RunOut(RunSummary):
    """A run in full."""

    description: str = ""
    environment: dict[str, Any] = {}
    """Command, host, Python, git without its diff, number of packages; `GET /runs/{run}/environment` has all of it."""

    seen_at: Moment
    """When data last arrived."""

    reason: str = ""
    """What its process said when it ended."""

    said: Optional[Message] = None
    """The same with its code and parameters."""

    num_parts: int = 0
    """Runs that say they are a part of this one, in its project."""

    axes: dict[str, str] = {}
    """Metric -> the metric that it is shown over, as type/name; `*` at the end of a key is any rest."""

    journals: list[JournalOut] = []
    branches: list[BranchOut] = []


class EnvironmentOut(Answer):
    """What was captured of a run's surroundings. Empty where nothing was."""

    environment: dict[str, Any] = {}
    """command, cwd, host, os, python, executable, cpus, user, ..."""

    packages: dict[str, str] = {}
    """Name -> version of what was installed."""

    git: dict[str, Any] = {}
    """commit, branch, remote, is_dirty, root, is_diff_cut"""

    diff: str = ""
    """What differed from the commit, in git's format."""


class OffsetOut(Answer):
    offset: int
    """Bytes that are durable now."""


class Line(Answer):
    """Points, column by column. A value that is not finite is null."""

    step: list[int]
    epoch: list[Optional[float]]
    time: list[float]
    """Seconds since 1970."""

    value: list[Optional[float]]


class HiddenLine(Line):
    branch: int


class SeriesPoints(Line):
    """One series of one run."""

    run: str
    type: str
    name: str
    num_points: int
    """On the main line, before it was thinned."""

    x: Optional[list[float]] = None
    """With `axis=own`: places on the axis that the script named, which `axis` names. None: it named none."""

    axis: Optional[str] = None
    """type/name"""

    hidden: list[HiddenLine] = []
    """What newer branches have superseded."""


class PointsOut(Answer):
    axis: str
    items: list[SeriesPoints]


class MediaOut(Answer):
    id: str
    """For GET /runs/{run}/media/{id}, which has the bytes."""

    kind: str
    type: str
    name: str
    format: str
    step: Optional[int] = None
    epoch: Optional[float] = None
    time: float


class RunAlertOut(Answer):
    """Something that a script wanted somebody to know."""

    id: int
    title: str
    text: str
    level: str
    """info, warning or error"""

    step: Optional[int] = None
    time: float
    """Seconds since 1970, by the clock of the script."""

    is_told: bool
    """Whether people were told of it; when there are many, some are only kept."""


class FolderOut(Answer):
    project: str
    path: str
    num_runs: int
    """Directly in it, without those in the trash."""


class MakeFolder(Body):
    path: str = Field(min_length=1, max_length=500)
    project: Optional[str] = Field(default=None, max_length=100)


class MoveFolder(Body):
    path: str = Field(min_length=1, max_length=500)
    to: str = Field(min_length=1, max_length=500)
    project: Optional[str] = Field(default=None, max_length=100)


class PushMetrics(Body):
    """Metrics that a script or a user pushes to a job."""

    timestamp: Optional[float] = Field(default=None, ge=0, le=253_402_300_799, allow_inf_nan=False)
    """Seconds since 1970; now when omitted."""

    values: dict[str, float] = Field(min_length=1, max_length=100)
    """Name -> value. `val/acc` is the metric acc of the type val."""

    epoch: Optional[float] = Field(default=None, allow_inf_nan=False)
    step: Optional[int] = Field(default=None, ge=-(2**62), le=2**62)
    total_steps: Optional[int] = Field(default=None, ge=1, le=2**62)


class PushMany(Body):
    metrics: list[PushMetrics] = Field(min_length=1, max_length=10_000)
