"""A pack: points of one range of a journal in columns. Specified in docs/formats/metrics.md.

    pack    | magic "DLMP" 4 | version u32 |  chunk  chunk  chunk ...
    chunk   | thin columns | full columns |
    columns | steps i64[n] | times f64[n] | epochs f64[n] | values f64[n] |

Little-endian. The database has the series, offset and length of each chunk. Packs are immutable and can be rebuilt
from the journal: the same range gives the same bytes and name.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from danlu.spec.paths import StorePath
from danlu.store.metrics.decode import BranchKey
from danlu.store.metrics.points import Points, thin
from danlu.store.objects.base import Objects

MAGIC = b"DLMP"
VERSION = 1
HEADER = struct.Struct("<4sI")
ROW_BYTES = 32
BUCKET = "metrics"


@dataclass(frozen=True, slots=True)
class Placed:
    """Position of a chunk in its pack."""

    at: int
    num_thin: int
    num_points: int


def encode_pack(points: Mapping[BranchKey, Points]) -> tuple[bytes, dict[BranchKey, Placed]]:
    """Build the pack of these series; return it with the position of each."""
    pieces, at = [HEADER.pack(MAGIC, VERSION)], HEADER.size
    placed: dict[BranchKey, Placed] = {}
    for key in sorted(points):
        full = points[key]
        small = thin(full)
        placed[key] = Placed(at, len(small), len(full))
        for columns in (small, full):
            pieces.append(_columns(columns))
            at += ROW_BYTES * len(columns)
    return b"".join(pieces), placed


class Packs:
    """Packs as objects, in the object store."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def put(self, run_id: str, journal: str, start: int, data: bytes) -> None:
        writer = self._objects.put(_path(run_id, journal, start))
        try:
            writer.write(data)
            writer.commit()
        except BaseException:
            writer.abort()
            raise

    def read(self, run_id: str, journal: str, start: int, chunk: Placed, *, is_thin: bool) -> Points:
        skipped = 0 if is_thin else chunk.num_thin * ROW_BYTES
        count = chunk.num_thin if is_thin else chunk.num_points
        found = self._objects.open(_path(run_id, journal, start))
        try:
            data = b"".join(found.pieces(chunk.at + skipped, count * ROW_BYTES))
        finally:
            found.close()
        numbers, steps = np.frombuffer(data, "<f8"), np.frombuffer(data, "<i8", count=count)
        return Points(steps, numbers[count : 2 * count], numbers[2 * count : 3 * count], numbers[3 * count : 4 * count])

    def delete_run(self, run_id: str) -> None:
        self._objects.delete_below(StorePath(BUCKET, f"{run_id}/"))


def _columns(points: Points) -> bytes:
    return b"".join(
        (
            points.steps.astype("<i8").tobytes(),
            points.times.astype("<f8").tobytes(),
            points.epochs.astype("<f8").tobytes(),
            points.values.astype("<f8").tobytes(),
        )
    )


def _path(run_id: str, journal: str, start: int) -> StorePath:
    return StorePath(BUCKET, f"{run_id}/{journal}/{start:016d}.pack")
