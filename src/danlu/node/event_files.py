"""Copies the metrics of a task's runs into event files, so that TensorBoard shows them. Python's own library only.

    python -m danlu.node.event_files RUNS_FOLDER EVENTS_FOLDER

Goes on until it is ended: the task's end does that. A record of an event file:

    8 bytes length, 4 bytes masked crc32c of them, the event, 4 bytes masked crc32c of the event

and an event is a protocol buffer: wall_time (1), step (2), summary (5) with values (1) of tag (1) and number (2).
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO, Optional

from danlu.journal.format import FILE_HEADER_BYTES, BadJournal, Kind, Layout
from danlu.journal.reader import decode_layout, layout_number, rows, scan

LOOK_SECONDS = 2.0
JOURNAL = ".journal"
PIECE_BYTES = 8 << 20
_POLYNOMIAL, _MASK_DELTA = 0x82F63B78, 0xA282EAD8


def _table() -> list[int]:
    table = []
    for byte in range(256):
        number = byte
        for _ in range(8):
            number = (number >> 1) ^ (_POLYNOMIAL if number & 1 else 0)
        table.append(number)
    return table


_CRC32C = _table()


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return b"".join((length, struct.pack("<I", masked_crc32c(length)), event, struct.pack("<I", masked_crc32c(event))))


def version_event(at: float) -> bytes:
    """What every event file begins with."""
    return struct.pack("<Bd", 0x09, at) + _text(0x1A, "brain.Event:2")


def scalar_event(at: float, step: int, *, tag: str, value: float) -> bytes:
    number = _text(0x0A, tag) + struct.pack("<Bf", 0x15, value)
    summary = _field(0x0A, number)
    return struct.pack("<Bd", 0x09, at) + b"\x10" + _varint(step & 0xFFFFFFFFFFFFFFFF) + _field(0x2A, summary)


class Mirror:
    """One journal, and the event file beside it that has the same points."""

    def __init__(self, path: str, folder: str) -> None:
        self._path, self._folder = path, folder
        self._at = FILE_HEADER_BYTES
        self._layouts: dict[int, Layout] = {}
        self._file: Optional[str] = None
        self._is_damaged = False

    def follow(self) -> None:
        """Copy what is new. Quiet about a journal that cannot be read: whoever sends it says so."""
        if self._is_damaged:
            return
        try:
            with open(self._path, "rb") as journal:
                while self._copy_piece(journal):
                    pass
        except (OSError, BadJournal):
            self._is_damaged = True

    def _copy_piece(self, journal: BinaryIO) -> bool:
        """False when there is nothing more for now."""
        journal.seek(self._at)
        found = scan(journal.read(PIECE_BYTES), 0)
        self._is_damaged = found.is_damaged
        events: list[bytes] = []
        for frame in found.frames:
            if frame.kind == Kind.LAYOUT:
                layout = decode_layout(frame)
                self._layouts[layout.number] = layout
            elif frame.kind == Kind.POINTS:
                layout = self._layouts[layout_number(frame)]
                for step, at, _epoch, *values in rows(frame, len(layout.names)):
                    for name, value in zip(layout.names, values):
                        tag = f"{layout.type}/{name}" if layout.type else name
                        events.append(record(scalar_event(at, step, tag=tag, value=_single(value))))
        if events:
            self._write(b"".join(events))
        self._at += found.end
        return bool(found.frames) and not self._is_damaged

    def _write(self, data: bytes) -> None:
        if self._file is None:
            os.makedirs(self._folder, exist_ok=True)
            self._file = os.path.join(self._folder, f"events.out.tfevents.{int(time.time())}.danlu")
            data = record(version_event(time.time())) + data
        with open(self._file, "ab") as file:
            file.write(data)


class Mirrors:
    def __init__(self, runs: str, events: str) -> None:
        self._runs, self._events = runs, events
        self._known: dict[str, Mirror] = {}

    def follow(self) -> None:
        for path in _journals(self._runs):
            if path not in self._known:
                name = os.path.relpath(path, self._runs)[: -len(JOURNAL)]
                self._known[path] = Mirror(path, os.path.join(self._events, name))
            self._known[path].follow()


def _journals(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(JOURNAL):
                yield os.path.join(parent, name)


def _single(value: float) -> float:
    """A number that fits into four bytes."""
    try:
        struct.pack("<f", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def _varint(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append((number & 0x7F) | 0x80)
        number >>= 7
    return bytes((*parts, number))


def _field(key: int, data: bytes) -> bytes:
    return bytes((key,)) + _varint(len(data)) + data


def _text(key: int, text: str) -> bytes:
    return _field(key, text.encode(errors="replace"))


def main() -> None:
    mirrors = Mirrors(sys.argv[1], sys.argv[2])
    while True:
        mirrors.follow()
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main()
