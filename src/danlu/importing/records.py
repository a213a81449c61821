"""Common form of runs of other trackers, before they become journals."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

_MISSHAPEN = (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, struct.error)
UNREADABLE = (ValueError, OSError, *_MISSHAPEN)
"""Errors that reading a malformed file may raise."""

MAX_PROBLEMS = 200
"""Per run; of further ones only the number is reported."""


def storable(text: str) -> str:
    """Return a text that the server takes: without halves of surrogate pairs, which file names and JSON may have."""
    return text.encode("utf-8", "replace").decode()


class Points(NamedTuple):
    """Values of one step: metric, as the tracker names it -> number."""

    values: Mapping[str, float]
    step: int
    time: float
    epoch: Optional[float] = None
    type: Optional[str] = None
    """Type, if the tracker has one; otherwise the first part of a name is the type if it is a known one."""


class Medium(NamedTuple):
    """A text, image, sound, video, table, histogram, HTML page or Plotly figure."""

    kind: str
    name: str
    data: bytes
    step: int
    time: float
    type: Optional[str] = None


class Printed(NamedTuple):
    """Output of the process to stdout (1) or stderr (2)."""

    stream: int
    time: float
    data: bytes


class Alert(NamedTuple):
    """An alert of the script."""

    title: str
    text: str
    level: str
    """info, warning or error, in the tracker's spelling."""

    step: int
    time: float


Event = Union[Points, Medium, Printed, Alert]


@dataclass(frozen=True)
class MadeArtifact:
    """A version of an artifact that a run has produced or read, with its files if they are available."""

    name: str
    key: str
    """Identity of the version: the same key is the same version."""

    kind: str = "output"
    files: Mapping[str, Path] = field(default_factory=dict)
    references: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    description: str = ""


@dataclass
class Problems:
    """What could not be imported of a run, one sentence each. Limited in number, because files may be hostile."""

    told: list[str] = field(default_factory=list)
    num_more: int = 0
    most: int = MAX_PROBLEMS

    def add(self, sentence: str) -> None:
        if len(self.told) >= self.most:
            self.num_more += 1
        elif sentence not in self.told:
            self.told.append(sentence[:500])

    def all(self) -> list[str]:
        return [*self.told, *([f"{self.num_more} more"] if self.num_more else [])]


@dataclass(frozen=True)
class ForeignRun(ABC):
    """A run of another tracker."""

    tracker: str
    key: str
    """Identity of the run in the tracker, independent of where its files are."""

    part: str
    """Identifies the file, for a resumed run with several files."""

    fingerprint: str
    """Changes when the content of the file changes."""

    name: str
    created_at: float
    folder: str = ""
    group: str = ""
    """A name that several runs share."""

    labels: tuple[str, ...] = ()
    description: str = ""
    axes: Mapping[str, str] = field(default_factory=dict)
    """Metric -> the metric on its X axis, in the tracker's names; a trailing `*` matches any suffix."""

    branch: int = 1
    hparams: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    state: str = "finished"
    reason: str = ""
    ended_at: Optional[float] = None
    artifacts: tuple[MadeArtifact, ...] = ()
    problems: Problems = field(default_factory=Problems)

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """Yield the logged events in order. What cannot be read is added to `problems`."""


class Source(ABC):
    """A place from which runs are read."""

    @abstractmethod
    def runs(self) -> Iterator[ForeignRun]:
        """Yield each readable run."""

    @abstractmethod
    def problems(self) -> list[str]:
        """One sentence for each run that could not be read; complete after `runs` has been consumed."""
