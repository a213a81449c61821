"""The usage file of a task: cells of time, merged so that a month needs no more space than a day. Little-endian.

    header    4s magic `DLUS`, u16 version, u16 bytes of a cell, u32 generation, f32 seconds between samples, 16 spare
    cell      f64 unix time of its end, f32 seconds it covers, f32 spare, 8 x f32 means, 8 x f32 peaks

Cells are appended. When there are MOST of them, older ones are merged into wider ones and the file is rewritten with
the next generation number, so that copies start over. NaN: not measured. `docs/formats/usage.md` is the specification.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MAGIC, VERSION = b"DLUS", 1
HEADER = struct.Struct("<4sHHIf16x")
CELL = struct.Struct("<dff8f8f")
QUANTITIES = ("cpu", "memory", "read", "written", "received", "sent", "device", "device_memory")
"""Cores, bytes, bytes per second (four times), device utilization (0 to 1), bytes of device memory."""

MOST, NEWEST, OLDER = 4096, 1024, 2048
"""Maximum number of cells; of newest cells that are never merged; of older cells after merging."""

NOT_MEASURED = math.nan


class Header(NamedTuple):
    generation: int
    every_seconds: float


class Cell(NamedTuple):
    at: float
    seconds: float
    means: tuple[float, ...]
    """In the order of QUANTITIES."""

    peaks: tuple[float, ...]


def pack_header(header: Header) -> bytes:
    return HEADER.pack(MAGIC, VERSION, CELL.size, header.generation, header.every_seconds)


def read_header(data: bytes) -> Header:
    """Raise ValueError when it is not a usage file, or has another version."""
    if len(data) < HEADER.size:
        raise ValueError("too short for what a task uses")
    magic, version, size, generation, every_seconds = HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION or size != CELL.size:
        raise ValueError(f"not a file of what a task uses, or of another version ({magic!r}, {version}, {size})")
    return Header(generation, every_seconds)


def pack(cell: Cell) -> bytes:
    return CELL.pack(cell.at, cell.seconds, 0.0, *cell.means, *cell.peaks)


def read_cells(data: bytes) -> Iterator[Cell]:
    """Yield the complete cells after the header. A partial cell at the end is still being written, and skipped."""
    end = HEADER.size + (len(data) - HEADER.size) // CELL.size * CELL.size
    for at, seconds, _, *values in CELL.iter_unpack(data[HEADER.size : end]):
        yield Cell(at, seconds, tuple(values[:8]), tuple(values[8:]))


def thin(cells: Sequence[Cell]) -> list[Cell]:
    """Merge older cells until they are few enough; they then have about the same width."""
    older, newest = list(cells[:-NEWEST]), cells[-NEWEST:]
    width = min((cell.seconds for cell in older), default=1.0)
    while len(older) > OLDER:
        width *= 2
        older = _up_to(older, width)
    return [*older, *newest]


def _up_to(cells: Sequence[Cell], width: float) -> list[Cell]:
    found: list[Cell] = []
    for cell in cells:
        # samples are not exactly equidistant
        if found and found[-1].seconds + cell.seconds <= width * 1.2:
            found[-1] = together(found[-1], cell)
        else:
            found.append(cell)
    return found


def together(first: Cell, second: Cell) -> Cell:
    """Merge two adjacent cells: means weighted by time, the higher peaks."""
    seconds = first.seconds + second.seconds
    means = tuple(_mean(pair, (first.seconds, second.seconds)) for pair in zip(first.means, second.means))
    peaks = tuple(_peak(pair) for pair in zip(first.peaks, second.peaks))
    return Cell(second.at, seconds, means, peaks)


def _mean(values: tuple[float, float], weights: tuple[float, float]) -> float:
    known = [(value, weight) for value, weight in zip(values, weights) if not math.isnan(value)]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else NOT_MEASURED


def _peak(values: tuple[float, float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=NOT_MEASURED)
