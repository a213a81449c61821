"""The contract of what makes batches: the compiled core's threads, Pillow in Python threads, or a user's transform.

ticket = engine.start(wanted)     a batch is under way
made = ticket.finish()            it is there, or the first of its records that cannot be made is named
ticket.abandon()                  or nobody wants it any more
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from danlu_accel.records.draws import Geometry, Keys
from danlu_accel.records.errors import BrokenImage
from danlu_accel.records.index import Entries

if TYPE_CHECKING:
    import torch

NUM_GEOMETRY_FIELDS = len(fields(Geometry))
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Wanted:
    """One batch to be made."""

    records: npt.NDArray[np.int64]
    entries: Entries
    keys: Keys


@dataclass(frozen=True)
class Made:
    """One batch: its images, N, C, H, W unless a user's transform decides."""

    images: torch.Tensor
    geometry: Numbers | None
    """One row per image, the fields of Geometry; None where a user's transform ran."""
    num_by_pillow: int
    """Images that were made in Python."""


class Ticket(ABC):
    """A batch under way. Exactly one of its methods is called, once, by the process that started it."""

    @abstractmethod
    def finish(self) -> Made:
        """Wait until no thread works on the batch any more, then return it.

        Raises BrokenImage or BadRecordFile if a record cannot be made, for the first one in the order of the batch.
        """

    @abstractmethod
    def abandon(self) -> None:
        """Let go of the batch; no thread works on it after this. Quiet when the engine is closed."""


class Engine(ABC):
    """Makes batches in threads, in the order in which they are started. Used by one thread of one process."""

    @abstractmethod
    def start(self, wanted: Wanted) -> Ticket:
        """Begin to make a batch and return at once."""

    @abstractmethod
    def statistics(self) -> dict[str, float]:
        """Return seconds and counts since the start, summed over the threads; empty where nothing is counted."""

    @abstractmethod
    def close(self) -> None:
        """Stop the threads and return when they are gone. Idempotent; tickets that are open may only be abandoned."""


def broken_record(record: int, error: BrokenImage) -> BrokenImage:
    """Return the error again with the record's number and what to do about it."""
    return BrokenImage(f"record {record}: {error}; pack again with on_broken=list to leave such images out")


def empty_geometry(count: int) -> Numbers:
    return np.zeros((count, NUM_GEOMETRY_FIELDS), np.int32)
