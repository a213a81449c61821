"""What a run of any tracker is here, before it becomes a journal."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

_MISSHAPEN = (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, struct.error)
UNREADABLE = (ValueError, OSError, *_MISSHAPEN)
"""What reading may raise where something is not of the shape that its tracker gives it."""

MAX_PROBLEMS = 200
"""Per run; of more, only the number is told."""


class Points(NamedTuple):
    """Values of one step: metric as the tracker calls it -> number."""

    values: Mapping[str, float]
    step: int
    time: float
    epoch: Optional[float] = None
    type: Optional[str] = None
    """Where the tracker knows one; otherwise it is the first part of a name, when that is a type's word."""


class Medium(NamedTuple):
    """A text, an image, a sound, a video, a table, a histogram, a page of HTML or a figure of Plotly."""

    kind: str
    name: str
    data: bytes
    step: int
    time: float
    type: Optional[str] = None


class Printed(NamedTuple):
    """What the process wrote to stdout (1) or stderr (2)."""

    stream: int
    time: float
    data: bytes


class Alert(NamedTuple):
    """What a script wanted somebody to know."""

    title: str
    text: str
    level: str
    """info, warning or error, in the tracker's spelling."""

    step: int
    time: float


Event = Union[Points, Medium, Printed, Alert]


@dataclass(frozen=True)
class MadeArtifact:
    """A version of an artifact that a run has made or read, with its files where they are here."""

    name: str
    key: str
    """What tells it from every other version: the same key again is the same version."""

    kind: str = "output"
    files: Mapping[str, Path] = field(default_factory=dict)
    references: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    description: str = ""


@dataclass
class Problems:
    """What could not be brought of one run, a sentence each. Their number is limited, for files may be hostile."""

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
    """What tells it from every other run of the tracker, wherever its files lie."""

    part: str
    """Which of its files this is, for a run that was resumed and lies in several."""

    fingerprint: str
    """Changes when the file does."""

    name: str
    created_at: float
    folder: str = ""
    group: str = ""
    """A word that several runs share."""

    labels: tuple[str, ...] = ()
    description: str = ""
    axes: Mapping[str, str] = field(default_factory=dict)
    """Metric -> the metric that it is shown over, as the tracker calls them; `*` at the end stands for any rest."""

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
        """What was logged, in order. What cannot be read is added to `problems`."""


class Source(ABC):
    """Where runs are."""

    @abstractmethod
    def runs(self) -> Iterator[ForeignRun]:
        """Each run that can be read."""

    @abstractmethod
    def problems(self) -> list[str]:
        """Runs that could not be read, a sentence each; whole once `runs` has been read."""
