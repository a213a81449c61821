"""A benchmark as a file: what runs, where, what is measured, and when it has passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from danlu.client.jobs.jobfile import read_job_file, set_value
from danlu.errors import InvalidSpec, NotFound
from danlu.spec.states import Word
from danlu.spec.units import parse_device, parse_duration

SHIPPED = Path(__file__).parent / "suites"


class Mode(Word):
    """How the nodes of a run work together."""

    NORMAL = "normal"
    SINGLE_SERVER = "single-server"


class Better(Word):
    HIGHER = "higher"
    LOWER = "lower"


class OverRanks(Word):
    """How the values of ranks are combined."""

    SUM = "sum"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Measure(_Frozen):
    unit: str = ""
    better: Better = Better.HIGHER
    over_ranks: OverRanks = OverRanks.SUM
    is_from_all: bool = True
    """Whether every rank must report this value; accuracy is reported by one rank of each group."""


class Criterion(_Frozen):
    at_least: Optional[float] = None
    at_most: Optional[float] = None

    def problem(self, value: float) -> Optional[str]:
        if self.at_least is not None and value < self.at_least:
            return f"expected at least {self.at_least:g}, got {value:.6g}"
        if self.at_most is not None and value > self.at_most:
            return f"expected at most {self.at_most:g}, got {value:.6g}"
        return None


class Suite(_Frozen):
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    """Name of the suite; runs of the same name are compared with each other."""

    task: str = ""
    """Description, in one line."""

    work: Optional[str] = None
    """Work that ships with Danlu; instead of `code` and `command`."""

    code: Optional[str] = None
    """Folder next to the suite file, or store path, with your own code."""

    command: Optional[str] = None
    """Command that runs on every node. Every rank must write `bench/rank-N.json` into its output folder."""

    data: dict[str, str] = Field(default_factory=dict)
    """Store path -> path in the job."""

    nodes: int = Field(default=1, ge=1, le=4096)
    device: str = "cpu:1"
    """Devices of every node; there is one rank per device."""

    cpus: Optional[float] = Field(default=None, gt=0)
    """Cores reserved on every node. Reserving all of them keeps other jobs away."""

    image: Optional[str] = None
    framework: Optional[str] = None
    env: dict[str, str] = Field(default_factory=dict)
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters of the code, such as sizes, steps, and `warmup`, the number of steps that do not count."""

    measures: dict[str, Measure] = Field(min_length=1)
    """What is measured. Reports and comparisons are about the first measure."""

    criteria: dict[str, Criterion] = Field(default_factory=dict)
    """Criteria that a run must meet to pass."""

    outlier: float = Field(default=0.1, gt=0, lt=1)
    """Ranks and nodes that differ from the median by more than this fraction are reported."""

    timeout: Annotated[float, BeforeValidator(parse_duration)] = 1800.0
    """Time limit of each job of a run, and of its wait in the queue."""

    @model_validator(mode="after")
    def _is_complete(self) -> Suite:
        if (self.work is None) == (self.command is None):
            raise ValueError("expected either work or command")
        if self.work is not None and self.code is not None:
            raise ValueError("code goes with command; work has its own")
        unknown = sorted(set(self.criteria) - set(self.measures))
        if unknown:
            raise ValueError(f"criteria: {unknown[0]!r} is not measured; measured: {', '.join(self.measures)}")
        parse_device(self.device)
        return self

    @property
    def main_measure(self) -> str:
        return next(iter(self.measures))

    @property
    def per_node(self) -> int:
        """Ranks per node."""
        return parse_device(self.device).count


def shipped() -> dict[str, Path]:
    """Name -> file of the suites that ship with Danlu."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.yml"))}


def find_suite(name: str) -> Path:
    """The file of a suite: a path, or the name of one that ships with Danlu."""
    known = shipped()
    if name in known:
        return known[name]
    path = Path(name)
    if path.is_file():
        return path
    raise NotFound(f"no suite {name!r}; expected a file, or one of {', '.join(known)}")


def read_suite(path: Path, settings: Sequence[str] = ()) -> Suite:
    """Read a suite file; `settings` such as `parameters.steps=5` change it. Raise InvalidSpec."""
    values = read_job_file(path).values
    for setting in settings:
        values = set_value(values, setting)
    code = values.get("code")
    if isinstance(code, str) and "://" not in code:
        values = {**values, "code": str((path.parent / code).resolve())}
    return parse_suite(values, where=str(path))


def parse_suite(values: Mapping[str, Any], *, where: str) -> Suite:
    try:
        return Suite.model_validate(values)
    except ValidationError as error:
        fields = {".".join(map(str, one["loc"])) or "suite": str(one["msg"]) for one in error.errors()}
        told = "; ".join(f"{place}: {problem}" for place, problem in fields.items())
        raise InvalidSpec(f"{where}: invalid suite: {told}", fields=fields) from error
