"""Records of MLflow runs, independent of where they were read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Optional

MAX_TEXT_BYTES = 1 << 20
DATASET = ("name", "digest", "source_type", "source", "schema", "profile")
"""Fields of a data set in MLflow."""


class Point(NamedTuple):
    key: str
    value: float
    timestamp: int
    """Milliseconds since 1970."""

    step: int


class MlflowRun(NamedTuple):
    id: str
    experiment: str
    """Name of the experiment."""

    name: str
    status: str
    started_at: Optional[int]
    """Milliseconds since 1970, as `ended_at`."""

    ended_at: Optional[int]
    params: dict[str, str]
    tags: dict[str, str]
    user: str = ""
    inputs: tuple[dict[str, Any], ...] = ()
    """Data sets in the form in which MLflow's client logs them: `{"dataset": {"name": ...}, "tags": [...]}`."""

    experiment_tags: Mapping[str, str] = MappingProxyType({})


class Source(ABC):
    """A place from which MLflow runs are read."""

    @abstractmethod
    def runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        """Yield all runs that are not deleted, of one experiment or of all."""

    @abstractmethod
    def points(self, run: MlflowRun) -> Iterator[Point]:
        """Yield points metric by metric, in the order in which they were logged."""

    @abstractmethod
    def files(self, run: MlflowRun, into: Path, /) -> Iterator[tuple[str, Path]]:
        """Yield name and path of each file. `into`: an empty folder for downloads."""

    def close(self) -> None:  # noqa: B027  most have nothing to close
        """Close what was opened."""

    def problems(self) -> list[str]:
        """One sentence for each thing that could not be read."""
        return []
