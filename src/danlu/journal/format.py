"""The binary format of a journal, and the encoding of each kind of record.

    file    | magic "DLJ1" 4 | version u16 | flags u16 | journal id 16 |  frame  frame  frame ...
    frame   | crc32 u32 | length u32 | kind u8 | payload: `length` bytes |
              the checksum covers everything after itself: length, kind and payload

All numbers are little-endian. JSON is ASCII, without NaN. Readers skip unknown kinds.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple, Optional, Union

from danlu.journal.room import Room

MAGIC = b"DLJ1"
VERSION = 1
FILE_HEADER = struct.Struct("<4sHH16s")  # magic, version, flags, journal id
FILE_HEADER_BYTES = FILE_HEADER.size
CRC = struct.Struct("<I")
LENGTH_AND_KIND = struct.Struct("<IB")
FRAME_HEADER = struct.Struct("<IIB")  # crc, length, kind
FRAME_HEADER_BYTES = FRAME_HEADER.size
MAX_PAYLOAD_BYTES = 1 << 20
SET_HEAD_BYTES = 1000
"""Reserved in a SET frame for everything besides the values."""

KEYS_AT_ONCE = 100
POINTS_HEADER = struct.Struct("<II")  # layout, number of rows
OUTPUT_HEADER = struct.Struct("<B7xd")  # stream, time
MEDIA_HEADER = struct.Struct("<I")  # length of the JSON; the bytes follow it

Bytes = Union[bytes, bytearray, memoryview]


class Kind(IntEnum):
    """Kinds of frames."""

    RUN = 1
    """JSON: which run this is, and where it runs. The first frame of every journal."""

    SET = 2
    """JSON: hyperparameters, summary, labels and the like, by field."""

    LAYOUT = 3
    """JSON: the series that the rows of POINTS frames have values for; declared once, before the first row."""

    POINTS = 4
    """Rows of one layout."""

    MEDIA = 5
    """A text, an image or a histogram: JSON, then the bytes."""

    OUTPUT = 6
    """What the process wrote to stdout or stderr."""

    FINISH = 7
    """JSON: how the writer of this journal ended."""

    BRANCH = 8
    """JSON: the following points belong to a newer branch of the run."""


class BadJournal(ValueError):
    """The bytes are not a journal, or one of an unsupported version."""


class FileHeader(NamedTuple):
    journal_id: str
    """32 random hexadecimal digits; unique."""

    version: int


class Layout(NamedTuple):
    """The series of the values in each row of a POINTS frame, in this order."""

    number: int
    type: str
    """`train`, `val`, `test`, `system`, or a word that the user chose."""

    names: tuple[str, ...]


def new_run_id() -> str:
    """Return `run-` and 128 random bits in base32. Clients create it, so that a run exists without a server."""
    return "run-" + base64.b32encode(os.urandom(16)).decode().rstrip("=").lower()


def new_journal_id() -> str:
    return os.urandom(16).hex()


def file_header(journal_id: str) -> bytes:
    return FILE_HEADER.pack(MAGIC, VERSION, 0, bytes.fromhex(journal_id))


def read_file_header(buffer: Bytes) -> FileHeader:
    """Return the header of a journal. Raise BadJournal when the bytes are not a journal."""
    if len(buffer) < FILE_HEADER_BYTES:
        raise BadJournal(f"a journal begins with {FILE_HEADER_BYTES} bytes of header; there are {len(buffer)}")
    magic, version, _, journal_id = FILE_HEADER.unpack_from(buffer)
    if magic != MAGIC:
        raise BadJournal(f"not a journal: it begins with {bytes(magic)!r} instead of {MAGIC!r}")
    if version > VERSION:
        raise BadJournal(f"the journal is of format {version}, this danlu reads up to {VERSION}; upgrade danlu")
    return FileHeader(journal_id.hex(), version)


def encode_frame(kind: int, payload: bytes) -> bytes:
    """Return one complete frame. Raise BadJournal when the payload is too large."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise BadJournal(f"a frame holds at most {MAX_PAYLOAD_BYTES} bytes, not {len(payload)}")
    head = LENGTH_AND_KIND.pack(len(payload), kind)
    return CRC.pack(zlib.crc32(payload, zlib.crc32(head))) + head + payload


def encode_run(values: Mapping[str, Any]) -> bytes:
    """Encode the first frame: `run`, `name`, `created_at` and more; see docs/formats/journal.md."""
    return _json_frame(Kind.RUN, values)


def encode_set(field: str, values: Mapping[str, Any], *, remove: Sequence[str] = (), time: float) -> bytes:
    """Set and remove keys of a mapping of the run: `hparams` or `summary`."""
    return _json_frame(Kind.SET, {"field": field, "set": values, "remove": list(remove), "time": time})


def encode_sets(
    field: str, values: Mapping[str, Any], *, room: Room, remove: Sequence[str] = (), time: float
) -> tuple[list[bytes], list[str]]:
    """Like `encode_set`, split into as many frames as needed. Also returns the keys whose values exceed the room."""
    frames: list[bytes] = []
    lost: list[str] = []
    part: dict[str, Any] = {}
    num_bytes = 0
    for key in remove:
        room.free(key)
    for key, value in values.items():
        length = len(_json({key: value}))
        if length > MAX_PAYLOAD_BYTES - SET_HEAD_BYTES or not room.take(key, length):
            lost.append(key)
            continue
        if part and num_bytes + length > MAX_PAYLOAD_BYTES - SET_HEAD_BYTES:
            frames.append(encode_set(field, part, time=time))
            part, num_bytes = {}, 0
        part[key] = value
        num_bytes += length
    if part:
        frames.append(encode_set(field, part, time=time))
    for first in range(0, len(remove), KEYS_AT_ONCE):
        frames.append(encode_set(field, {}, remove=remove[first : first + KEYS_AT_ONCE], time=time))
    return frames, lost


def encode_value(field: str, value: Any, *, time: float) -> bytes:
    """Replace a field of the run that is not a mapping: `labels`, `name`, `folder`, `description`, `total_steps`."""
    return _json_frame(Kind.SET, {"field": field, "value": value, "time": time})


def encode_layout(layout: Layout) -> bytes:
    return _json_frame(Kind.LAYOUT, {"layout": layout.number, "type": layout.type, "names": layout.names})


@cache
def row_struct(num_values: int) -> struct.Struct:
    """Format of a row of points: step i64, time f64, epoch f64 (NaN: none), then the values as f64."""
    return struct.Struct(f"<qdd{num_values}d")


def encode_points(layout_number: int, rows: Sequence[bytes]) -> bytes:
    """Encode rows of `row_struct` as one frame. The caller keeps them below MAX_PAYLOAD_BYTES."""
    return encode_frame(Kind.POINTS, b"".join([POINTS_HEADER.pack(layout_number, len(rows)), *rows]))


def encode_media(values: Mapping[str, Any], data: bytes) -> bytes:
    text = _json(values)
    return encode_frame(Kind.MEDIA, MEDIA_HEADER.pack(len(text)) + text + data)


def encode_output(stream: int, time: float, data: bytes) -> bytes:
    """`stream` is 1 for stdout and 2 for stderr."""
    return encode_frame(Kind.OUTPUT, OUTPUT_HEADER.pack(stream, time) + data)


def encode_finish(state: str, *, time: float, reason: str = "") -> bytes:
    """`state` is `finished`, `failed` (an exception, an exit code) or `died` (the process ended unexpectedly)."""
    return _json_frame(Kind.FINISH, {"state": state, "time": time, "reason": reason})


def encode_branch(branch: int, *, from_step: Optional[int], time: float) -> bytes:
    """Assign the following points to `branch`. It supersedes older branches from `from_step`, or else its first
    step."""
    return _json_frame(Kind.BRANCH, {"branch": branch, "from_step": from_step, "time": time})


def _json_frame(kind: Kind, values: Mapping[str, Any]) -> bytes:
    return encode_frame(kind, _json(values))


def _json(values: Mapping[str, Any]) -> bytes:
    # ASCII can carry lone surrogates, UTF-8 cannot
    return json.dumps(values, allow_nan=False, separators=(",", ":")).encode("ascii")
