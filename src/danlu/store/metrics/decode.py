"""Decode a range of a journal: points as columns by series, and other records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from danlu.journal import (
    FILE_HEADER_BYTES,
    BadJournal,
    Frame,
    Kind,
    decode_json,
    decode_layout,
    decode_media,
    decode_output,
    scan,
)
from danlu.journal.format import POINTS_HEADER
from danlu.store.metrics.points import Points, join

MAX_TYPE, MAX_NAME = 60, 300
MAX_PARTS = 1 << 10
MAX_TITLE, MAX_ALERT_TEXT = 200, 16_384
ALERT_LEVELS = ("info", "warning", "error")
MAX_DEPTH = 50
LAST_SECOND = 253_402_300_799.0
"""The end of the year 9999."""


class SeriesKey(NamedTuple):
    type: str
    name: str


class BranchKey(NamedTuple):
    branch: int
    series: SeriesKey


class MediaSeen(NamedTuple):
    """The first record of an image, a text or a histogram."""

    start: int
    num_parts: int
    kind: str
    type: str
    name: str
    format: str
    step: int | None
    epoch: float | None
    at: float


class AlertSeen(NamedTuple):
    """An alert that a script sent with `run.alert`."""

    title: str
    text: str
    level: str
    step: int | None
    at: float


class SetSeen(NamedTuple):
    """An assignment: keys of a mapping, or a value."""

    branch: int
    at: float
    field: str
    changed: dict[str, Any]
    removed: tuple[str, ...]
    value: Any


class OutputSeen(NamedTuple):
    """A range with output."""

    start: int
    end: int
    size: int


Layouts = dict[int, tuple[SeriesKey, ...]]


@dataclass
class Stretch:
    """Content between two offsets of a journal."""

    end: int
    layouts: Layouts
    branch: int
    """Branch of the next points."""

    points: dict[BranchKey, Points] = field(default_factory=dict)
    header: dict[str, Any] | None = None
    sets: list[SetSeen] = field(default_factory=list)

    branches: dict[int, int | None] = field(default_factory=dict)
    """Branch -> recorded first step."""

    media: list[MediaSeen] = field(default_factory=list)
    alerts: list[AlertSeen] = field(default_factory=list)
    output: OutputSeen | None = None
    finish: dict[str, Any] | None = None
    num_damaged: int = 0

    @cached_property
    def by_series(self) -> dict[SeriesKey, list[tuple[int, Points]]]:
        """Branches and points by series, computed once for readers of all series."""
        found: dict[SeriesKey, list[tuple[int, Points]]] = {}
        for key, points in self.points.items():
            if len(points):
                found.setdefault(key.series, []).append((key.branch, points))
        return found


def decode(data: bytes, start: int, layouts: Mapping[int, tuple[SeriesKey, ...]], branch: int) -> Stretch:
    """Decode complete frames at a journal offset. Invalid records are counted, not raised."""
    first = FILE_HEADER_BYTES if start == 0 else 0
    found = scan(data, first)
    made = Stretch(end=start + found.end, layouts=dict(layouts), branch=branch)
    rows: dict[tuple[int, int], list[tuple[int, memoryview]]] = {}
    for number, frame in enumerate(found.frames):
        try:
            if frame.kind == Kind.POINTS:
                layout = _checked_layout(frame, made.layouts)
                rows.setdefault((made.branch, layout), []).append((number, frame.payload[POINTS_HEADER.size :]))
            else:
                _other(made, frame, start)
        except (BadJournal, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            made.num_damaged += 1
    made.points = _series(rows, made.layouts)
    return made


def clean(value: Any, *, depth: int = 0) -> Any:
    """A value that every database and response accepts: without lone surrogates, NUL, non-finite numbers and deep
    nesting."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\x00", "")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > MAX_DEPTH and isinstance(value, (dict, list, tuple)):
        return "..."
    if isinstance(value, dict):
        return {clean(str(key)): clean(inner, depth=depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(inner, depth=depth + 1) for inner in value]
    return value


def key_of(type_: str, name: str) -> SeriesKey:
    return SeriesKey(clean(type_)[:MAX_TYPE], clean(name)[:MAX_NAME])


def printed(data: bytes) -> Iterator[bytes]:
    """Output bytes of complete frames."""
    for frame in scan(data, 0).frames:
        if frame.kind == Kind.OUTPUT:
            yield decode_output(frame).data


def _other(made: Stretch, frame: Frame, start: int) -> None:
    at = start + frame.start
    if frame.kind == Kind.LAYOUT:
        layout = decode_layout(frame)
        made.layouts[layout.number] = tuple(key_of(layout.type, name) for name in layout.names)
    elif frame.kind == Kind.RUN:
        made.header = clean(decode_json(frame))
        made.branch = _branch(made.header.get("branch") or 1)
        made.branches.setdefault(made.branch, None)
    elif frame.kind == Kind.BRANCH:
        values = decode_json(frame)
        made.branch = _branch(values["branch"])
        made.branches[made.branch] = _whole(values.get("from_step"))
    elif frame.kind == Kind.SET:
        made.sets.append(_set(made.branch, clean(decode_json(frame))))
    elif frame.kind == Kind.MEDIA:
        medium = decode_media(frame)
        about = clean(medium.about)
        if about.get("kind") == "alert":
            made.alerts.append(_alert(about, clean(medium.data.decode("utf-8", "replace"))))
        elif not about.get("part"):  # later parts are found through the first one
            made.media.append(_media(at, about))
    elif frame.kind == Kind.OUTPUT:
        size = len(decode_output(frame).data)
        before = made.output
        begun, sum_before = (at, 0) if before is None else (before.start, before.size)
        made.output = OutputSeen(begun, start + frame.end, sum_before + size)
    elif frame.kind == Kind.FINISH:
        finish = clean(decode_json(frame))
        made.finish = {**finish, "time": _seconds(finish.get("time"))}


def _set(branch: int, record: dict[str, Any]) -> SetSeen:
    changed, removed = record.get("set") or {}, record.get("remove") or ()
    if not isinstance(changed, dict) or not isinstance(removed, (list, tuple)):
        raise BadJournal("expected a mapping in a record that sets values")
    names = tuple(str(name) for name in removed)
    return SetSeen(branch, _seconds(record.get("time")), str(record["field"]), changed, names, record.get("value"))


def _media(start: int, about: dict[str, Any]) -> MediaSeen:
    epoch = about.get("epoch")
    return MediaSeen(
        start,
        min(max(1, int(about.get("parts") or 1)), MAX_PARTS),
        str(about.get("kind") or "")[:20],
        str(about.get("type") or "")[:MAX_TYPE],
        str(about.get("name") or "")[:MAX_NAME],
        str(about.get("format") or "application/octet-stream")[:100],
        _whole(about.get("step")),
        None if epoch is None else float(epoch),
        _seconds(about.get("time")),
    )


def _alert(about: dict[str, Any], text: str) -> AlertSeen:
    level = str(about.get("level"))
    return AlertSeen(
        str(about.get("name") or "alert")[:MAX_TITLE],
        text[:MAX_ALERT_TEXT],
        level if level in ALERT_LEVELS else ALERT_LEVELS[0],
        _whole(about.get("step")),
        _seconds(about.get("time")),
    )


def _whole(value: Any) -> int | None:
    """A number that fits into a column, or None."""
    if value is None:
        return None
    number = int(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise BadJournal(f"{str(value)[:40]} is no step")
    return number


def _seconds(value: Any) -> float:
    """Seconds since 1970, limited to what a date can represent: a clock may be wrong, or a script hostile."""
    number = 0.0 if value is None else float(value)
    return 0.0 if math.isnan(number) else min(max(number, 0.0), LAST_SECOND)


def _branch(value: object) -> int:
    number = int(str(value))
    if not 1 <= number < 1 << 31:
        raise BadJournal(f"{number} is not the number of a branch")
    return number


def _checked_layout(frame: Frame, layouts: Layouts) -> int:
    layout, count = POINTS_HEADER.unpack_from(frame.payload) if len(frame.payload) >= POINTS_HEADER.size else (-1, 0)
    if layout not in layouts or len(frame.payload) != POINTS_HEADER.size + count * 8 * (3 + len(layouts[layout])):
        raise BadJournal(f"the points at byte {frame.start} do not fit layout {layout}")
    return int(layout)


def _series(rows: dict[tuple[int, int], list[tuple[int, memoryview]]], layouts: Layouts) -> dict[BranchKey, Points]:
    """Turn rows into columns, with one copy per layout."""
    parts: dict[BranchKey, list[tuple[Points, np.ndarray[Any, Any]]]] = {}
    for (branch, layout), pieces in rows.items():
        keys = layouts[layout]
        width = 3 + len(keys)
        raw = b"".join([payload for _, payload in pieces])
        numbers = np.frombuffer(raw, "<f8").reshape(-1, width)
        steps = np.ascontiguousarray(np.frombuffer(raw, "<i8").reshape(-1, width)[:, 0])
        times, epochs = np.ascontiguousarray(numbers[:, 1]), np.ascontiguousarray(numbers[:, 2])
        order = np.repeat([number for number, _ in pieces], [len(payload) // (8 * width) for _, payload in pieces])
        for column, key in enumerate(keys):
            values = np.ascontiguousarray(numbers[:, 3 + column])
            parts.setdefault(BranchKey(branch, key), []).append((Points(steps, times, epochs, values), order))
    return {key: _in_order(found) for key, found in parts.items()}


def _in_order(found: list[tuple[Points, np.ndarray[Any, Any]]]) -> Points:
    """Restore the logged order of a series in several layouts."""
    if len(found) == 1:
        return found[0][0]
    order = np.argsort(np.concatenate([numbers for _, numbers in found]), kind="stable")
    return join([points for points, _ in found]).take(order)
