"""The interface of engines, which make batches: in the compiled core, with Pillow, or with a user's transform.

ticket = engine.start(wanted)     start a batch
made = ticket.finish()            wait for it; raises for the first record that cannot be made
ticket.abandon()                  or drop it
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
    """A batch to make."""

    records: npt.NDArray[np.int64]
    entries: Entries
    keys: Keys


@dataclass(frozen=True)
class Made:
    """A finished batch. Images are N, C, H, W unless a user's transform returns another shape."""

    images: torch.Tensor
    geometry: Numbers | None
    """One row per image, the fields of Geometry; None where a user's transform ran."""
    num_by_pillow: int
    """Images that were made by Pillow instead of the compiled core."""


class Ticket(ABC):
    """A batch that is being made. Exactly one of its methods is called, once, by the process that started it."""

    @abstractmethod
    def finish(self) -> Made:
        """Wait until no thread works on the batch, then return it.

        Raises BrokenImage or BadRecordFile if a record cannot be made, for the first one in the order of the batch.
        """

    @abstractmethod
    def abandon(self) -> None:
        """Drop the batch. No thread works on it when this returns. Does nothing if the engine is closed."""


class Engine(ABC):
    """Makes batches in threads, in the order in which they were started. Used by one thread of one process."""

    @abstractmethod
    def start(self, wanted: Wanted) -> Ticket:
        """Start a batch and return at once."""

    @abstractmethod
    def statistics(self) -> dict[str, float]:
        """Return seconds and counts since the engine started, summed over its threads; empty if it counts nothing."""

    @abstractmethod
    def close(self) -> None:
        """Stop the threads and wait for them. Idempotent. Open tickets may then only be abandoned."""


def broken_record(record: int, error: BrokenImage) -> BrokenImage:
    """Return the error with the record's number and advice added."""
    return BrokenImage(f"record {record}: {error}; pack again with on_broken=list to leave such images out")


def empty_geometry(count: int) -> Numbers:
    return np.zeros((count, NUM_GEOMETRY_FIELDS), np.int32)
