"""Resource usage of tasks: a copy of each task's usage file, stored and deleted with its log.

<root>/<job id>/<attempt>/<rank>/use      as the node wrote it: danlu.journal.usage
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from danlu.journal.usage import CELL, HEADER, NEWEST, QUANTITIES, read_header
from danlu.store.files import write_at

Floats = NDArray[np.float64]
_CELL = np.dtype([("at", "<f8"), ("seconds", "<f4"), ("spare", "<f4"), ("means", "<f4", 8), ("peaks", "<f4", 8)])
assert _CELL.itemsize == CELL.size


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of one task: a row per cell of time, a column per quantity."""

    at: Floats
    """Unix time of the end of each cell."""

    seconds: Floats
    means: Floats
    peaks: Floats
    every_seconds: float


@dataclass(frozen=True, slots=True)
class Line:
    """One quantity of one task over time; None where nothing was measured."""

    mean: list[float | None]
    peak: list[float | None]
    average: float
    """Mean over the whole time of the task."""

    highest: float
    last: float


class UsageFiles:
    def __init__(self, root: Path) -> None:
        """`root`: folder of the logs."""
        self._root = root

    def known(self, job_id: str, attempt: int, rank: int) -> tuple[int, int]:
        """Generation and length of the copy, up to its last complete cell; -1 and 0 if there is no readable copy."""
        try:
            with self._path(job_id, attempt, rank).open("rb") as file:
                head = file.read(HEADER.size)
                size = os.fstat(file.fileno()).st_size
            return read_header(head).generation, whole_cells(size)
        except (OSError, ValueError):
            return -1, 0

    def put(self, job_id: str, attempt: int, rank: int, *, offset: int, data: bytes) -> None:
        """Append to the copy, or replace it with offset 0. Idempotent."""
        path = self._path(job_id, attempt, rank)
        if offset > 0:
            write_at(path, offset, data)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(".partial.use")
        partial.write_bytes(data)
        partial.replace(path)

    def read(self, job_id: str, attempt: int, rank: int) -> Usage | None:
        """The usage of a task; None if nothing was measured or the file was deleted."""
        try:
            data = self._path(job_id, attempt, rank).read_bytes()
            header = read_header(data)
        except (FileNotFoundError, ValueError):
            return None
        cells = np.frombuffer(data, _CELL, count=(len(data) - HEADER.size) // CELL.size, offset=HEADER.size)
        if not len(cells):
            return None
        return Usage(
            at=cells["at"],
            seconds=cells["seconds"].astype(np.float64),
            means=cells["means"].astype(np.float64),
            peaks=cells["peaks"].astype(np.float64),
            every_seconds=header.every_seconds,
        )

    def last(self, job_id: str, attempt: int, rank: int) -> Mapping[str, float]:
        """Last measurement by quantity; empty without one. Reads only the last cell."""
        try:
            with self._path(job_id, attempt, rank).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                num_cells = (size - HEADER.size) // CELL.size
                file.seek(HEADER.size + max(0, num_cells - 1) * CELL.size)
                values = CELL.unpack(file.read(CELL.size))[3:11]
        except (FileNotFoundError, struct.error):
            return {}
        return {name: value for name, value in zip(QUANTITIES, values, strict=True) if not math.isnan(value)}

    def quiet_seconds(self, job_id: str, attempt: int, *, rank: int, quantity: str, below: float) -> float | None:
        """How long a quantity has been continuously below a value, up to its last measurement.

        None if it is not measured. Considers only the newest cells, which are never merged.
        """
        try:
            with self._path(job_id, attempt, rank).open("rb") as file:
                num_cells = (os.fstat(file.fileno()).st_size - HEADER.size) // CELL.size
                first = max(0, num_cells - NEWEST)
                file.seek(HEADER.size + first * CELL.size)
                cells = np.frombuffer(file.read((num_cells - first) * CELL.size), _CELL)
        except (FileNotFoundError, ValueError):
            return None
        values = cells["means"][:, QUANTITIES.index(quantity)]
        cells, values = cells[~np.isnan(values)], values[~np.isnan(values)]
        if not len(cells):
            return None
        loud = np.flatnonzero(values >= below)
        if len(loud) == len(values) or (len(loud) and loud[-1] == len(values) - 1):
            return 0.0
        begun = int(loud[-1]) + 1 if len(loud) else 0
        return float(cells["at"][-1] - cells["at"][begun] + cells["seconds"][begun])

    def _path(self, job_id: str, attempt: int, rank: int) -> Path:
        return self._root / job_id / str(attempt) / str(rank) / "use"


def whole_cells(size: int) -> int:
    """Length of a file without an incomplete last cell."""
    return size - (size - HEADER.size) % CELL.size


def grid(usages: Sequence[Usage], num_points: int) -> Floats:
    """Common time axis of all tasks, with at most `num_points` intervals."""
    if not usages:
        return np.empty(0)
    start = min(float(usage.at[0] - usage.seconds[0]) for usage in usages)
    end = max(float(usage.at[-1]) for usage in usages)
    narrowest = min(float(np.median(usage.seconds)) for usage in usages)
    count = max(1, min(num_points, round((end - start) / max(narrowest, 0.1))))
    return np.linspace(start, end, count + 1)


def lines(usage: Usage, edges: Floats) -> Mapping[str, Line]:
    """Measurements of a task by quantity, for the intervals between edges."""
    found = {}
    for column, quantity in enumerate(QUANTITIES):
        is_known = ~np.isnan(usage.means[:, column])
        if not is_known.any():
            continue
        ends, seconds = usage.at[is_known], usage.seconds[is_known]
        means, peaks = usage.means[is_known, column], usage.peaks[is_known, column]
        time, total = _within(ends, seconds, np.ones_like(means), edges), _within(ends, seconds, means, edges)
        has_any = time > 1e-3
        found[quantity] = Line(
            mean=_shown(np.divide(total, time, out=np.zeros_like(time), where=has_any), has_any),
            peak=_shown(_highest(ends, seconds, peaks, edges), has_any),
            average=float(np.average(means, weights=seconds)),
            highest=float(peaks.max()),
            last=float(means[-1]),
        )
    return found


def _within(ends: Floats, seconds: Floats, values: Floats, edges: Floats) -> Floats:
    """Sum of value times seconds of all cells, within each interval."""
    # cumulative sum over time: linear within cells, constant between them
    times = np.stack([ends - seconds, ends], axis=1).ravel()
    sums = np.cumsum(values * seconds)
    heights = np.stack([sums - values * seconds, sums], axis=1).ravel()
    return np.diff(np.interp(edges, np.maximum.accumulate(times), heights))


def _highest(ends: Floats, seconds: Floats, peaks: Floats, edges: Floats) -> Floats:
    """Highest peak of the cells that overlap each interval."""
    last_point = len(edges) - 2
    first = np.clip(np.searchsorted(edges, ends - seconds, side="right") - 1, 0, last_point)
    last = np.clip(np.searchsorted(edges, ends, side="left") - 1, first, last_point)
    counts = last - first + 1
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    highest = np.full(last_point + 1, -np.inf)
    np.maximum.at(highest, np.repeat(first, counts) + offsets, np.repeat(peaks, counts))
    return highest


def _shown(values: Floats, is_known: NDArray[np.bool_]) -> list[float | None]:
    """Five digits suffice for a chart and halve the size."""
    return [float(f"{value:.5g}") if known else None for value, known in zip(values, is_known, strict=True)]
