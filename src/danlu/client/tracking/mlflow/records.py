"""What is read of a run, wherever it was."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Optional

MAX_TEXT_BYTES = 1 << 20
DATASET = ("name", "digest", "source_type", "source", "schema", "profile")
"""What MLflow says of a data set."""


class Point(NamedTuple):
    key: str
    value: float
    timestamp: int
    """Milliseconds since 1970."""

    step: int


class MlflowRun(NamedTuple):
    id: str
    experiment: str
    """Its name."""

    name: str
    status: str
    started_at: Optional[int]
    """Milliseconds since 1970, as `ended_at`."""

    ended_at: Optional[int]
    params: dict[str, str]
    tags: dict[str, str]
    user: str = ""
    inputs: tuple[dict[str, Any], ...] = ()
    """Its data sets, as MLflow's client logs them: `{"dataset": {"name": ...}, "tags": [...]}`."""

    experiment_tags: Mapping[str, str] = MappingProxyType({})


class Source(ABC):
    """A place with runs of MLflow."""

    @abstractmethod
    def runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        """All runs that are not deleted, of one experiment or of all."""

    @abstractmethod
    def points(self, run: MlflowRun) -> Iterator[Point]:
        """In the order in which they were logged, metric by metric."""

    @abstractmethod
    def files(self, run: MlflowRun, into: Path, /) -> Iterator[tuple[str, Path]]:
        """Name of each file and where it is. `into`: an empty folder for what has to be fetched."""

    def close(self) -> None:  # noqa: B027  most have nothing to close
        """Close what was opened."""

    def problems(self) -> list[str]:
        """What could not be read, a sentence each."""
        return []
