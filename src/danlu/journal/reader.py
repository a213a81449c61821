"""Read a journal that may be truncated at any byte: yields complete records, and reports where they end."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

from danlu.journal.format import (
    FILE_HEADER_BYTES,
    FRAME_HEADER,
    FRAME_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    MEDIA_HEADER,
    OUTPUT_HEADER,
    POINTS_HEADER,
    BadJournal,
    Bytes,
    Kind,
    Layout,
    row_struct,
)


class Frame(NamedTuple):
    kind: int
    """A `Kind`, or a number added by a later version."""

    start: int
    end: int
    """Offsets in the buffer; `end` is the start of the next frame."""

    payload: memoryview


class Scan(NamedTuple):
    """Frames in a buffer, and where they end."""

    frames: list[Frame]
    end: int
    """End of the last complete frame. What follows is unfinished or damaged."""

    is_damaged: bool
    """Whether the rest is damaged, with a wrong checksum or an impossible length, so that more bytes cannot complete
    it."""


class Columns(NamedTuple):
    """A POINTS frame in columns. `epochs` has NaN where there is none."""

    layout: int
    steps: array[int]
    """Of type `q`; the other arrays are of type `d`. Their bytes can be stored as they are."""

    times: array[float]
    epochs: array[float]
    values: list[array[float]]


class Media(NamedTuple):
    about: dict[str, Any]
    data: bytes


class Output(NamedTuple):
    stream: int
    time: float
    data: bytes


def scan(buffer: Bytes, start: int = FILE_HEADER_BYTES, *, limit: Optional[int] = None) -> Scan:
    """Return all complete frames from `start`; with `limit`, only those that end at most that many bytes after it."""
    view = memoryview(buffer)
    found: list[Frame] = []
    at, total = start, len(view)
    last = total if limit is None else min(total, start + limit)
    unpack, crc32 = FRAME_HEADER.unpack_from, zlib.crc32
    while at + FRAME_HEADER_BYTES <= last:
        crc, length, kind = unpack(view, at)
        end = at + FRAME_HEADER_BYTES + length
        if length > MAX_PAYLOAD_BYTES or kind == 0:
            return Scan(found, at, is_damaged=True)
        if end > last:
            break
        if crc32(view[at + 4 : end]) != crc:
            return Scan(found, at, is_damaged=True)
        found.append(Frame(kind, at, end, view[at + FRAME_HEADER_BYTES : end]))
        at = end
    return Scan(found, at, is_damaged=False)


def frames(buffer: Bytes, start: int = FILE_HEADER_BYTES) -> Iterator[Frame]:
    """Iterate over the complete frames."""
    return iter(scan(buffer, start).frames)


def piece(buffer: Bytes, start: int, limit: int) -> int:
    """Return the end of a piece from `start` that has only complete frames, and at most `limit` bytes.

    A piece from 0 includes the file header. Returns `start` when not even one frame is complete.
    """
    if start == 0 and len(buffer) < FILE_HEADER_BYTES:
        return 0
    first = FILE_HEADER_BYTES if start == 0 else start
    end = scan(buffer, first, limit=limit - (first - start)).end
    return end if end > first else start


def decode_json(frame: Frame) -> dict[str, Any]:
    """Return the values of a RUN, SET, LAYOUT, FINISH or BRANCH frame."""
    return _object(bytes(frame.payload))


def decode_layout(frame: Frame) -> Layout:
    values = decode_json(frame)
    try:
        return Layout(int(values["layout"]), str(values["type"]), tuple(str(name) for name in values["names"]))
    except (KeyError, TypeError, ValueError) as error:
        raise BadJournal(f"a layout frame at byte {frame.start} lacks a field or has a wrong one: {error!r}") from error


def layout_number(frame: Frame) -> int:
    """Return the layout number of a POINTS frame without decoding it."""
    return int(_points_header(frame)[0])


def rows(frame: Frame, num_values: int) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a POINTS frame: (step, time, epoch, value, value, ...)."""
    _check_rows(frame, num_values)
    return row_struct(num_values).iter_unpack(frame.payload[POINTS_HEADER.size :])


def columns(frame: Frame, num_values: int) -> Columns:
    """Return the rows of a POINTS frame as columns, with one pass in C per column."""
    number = _check_rows(frame, num_values)
    body = frame.payload[POINTS_HEADER.size :]
    whole, numbers = array("q", body.tobytes()), array("d", body.tobytes())
    if sys.byteorder != "little":
        whole.byteswap()
        numbers.byteswap()
    width = 3 + num_values
    return Columns(
        number,
        whole[0::width],
        numbers[1::width],
        numbers[2::width],
        [numbers[column::width] for column in range(3, width)],
    )


def decode_media(frame: Frame) -> Media:
    try:
        (length,) = MEDIA_HEADER.unpack_from(frame.payload)
    except struct.error as error:
        raise BadJournal(f"a media frame at byte {frame.start} is too short") from error
    text = frame.payload[MEDIA_HEADER.size : MEDIA_HEADER.size + length]
    return Media(_object(bytes(text)), bytes(frame.payload[MEDIA_HEADER.size + length :]))


def decode_output(frame: Frame) -> Output:
    try:
        stream, time = OUTPUT_HEADER.unpack_from(frame.payload)
    except struct.error as error:
        raise BadJournal(f"an output frame at byte {frame.start} is too short") from error
    return Output(stream, time, bytes(frame.payload[OUTPUT_HEADER.size :]))


def _points_header(frame: Frame) -> tuple[Any, ...]:
    if frame.kind != Kind.POINTS or len(frame.payload) < POINTS_HEADER.size:
        raise BadJournal(f"the frame at byte {frame.start} has no points")
    return POINTS_HEADER.unpack_from(frame.payload)


def _check_rows(frame: Frame, num_values: int) -> int:
    number, count = _points_header(frame)
    if len(frame.payload) != POINTS_HEADER.size + count * row_struct(num_values).size:
        raise BadJournal(f"the points at byte {frame.start} are not {count} rows of {num_values} values")
    return int(number)


def _object(text: bytes) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadJournal(f"a frame has JSON that cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise BadJournal("a frame has JSON that is no object")
    return values
