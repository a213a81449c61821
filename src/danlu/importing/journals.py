"""Write a foreign run as a journal. The same run always produces the same bytes, so that nothing is imported twice."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple, Optional

from danlu import journal
from danlu.importing import media
from danlu.importing.records import Alert, Event, ForeignRun, Medium, Points, Printed, storable
from danlu.journal.words import TYPES

ROWS_AT_ONCE = 2000
MAX_ROW_BYTES = 256 << 10
MAX_SERIES = 20_000
MAX_NAME = 200
OUTPUT_BYTES = 256 << 10
MAX_ENVIRONMENT_BYTES = 700_000
MAX_DEPTH = 32
MAX_TEXT = 1 << 18
MAX_AXES = 2000
"""Maximum number of metrics with an axis, as on the server."""

LATEST = 253_402_300_799.0
"""End of the year 9999."""

_TYPES = {**TYPES, "system": "system"}


class Written(NamedTuple):
    num_points: int
    num_media: int


def run_id(run: ForeignRun, *, owner: str, project: str) -> str:
    """Return the same id for every import of this run by this user into this project."""
    digest = hashlib.sha256(json.dumps([run.tracker, run.key, owner, project]).encode()).digest()
    return "run-" + base64.b32encode(digest[:16]).decode().rstrip("=").lower()


def journal_id(run: ForeignRun) -> str:
    """Derive the id: the first half from the identity of the file, the second from its content."""
    part, content = (_digest(text) for text in (run.part, run.fingerprint))
    return part[:16] + content[:16]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def header_of(run: ForeignRun, *, id: str, project: Optional[str]) -> dict[str, Any]:
    """Return the RUN values, for the server and the first frame."""
    return {
        "run": id,
        "name": storable(run.name.strip()[:MAX_NAME]) or "run",
        "created_at": _moment(run.created_at, 0.0),
        "folder": storable(run.folder),
        "labels": [storable(label[:MAX_NAME]) for label in run.labels][:100],
        "project": project,
        "description": storable(run.description[:16_384]),
        "group": storable(run.group.strip()[:MAX_NAME]) or None,
        "job": None,
        "attempt": None,
        "rank": 0,
        "branch": run.branch,
        "writer": "process",
        "environment": _environment(run),
    }


def _environment(run: ForeignRun) -> dict[str, Any]:
    """Return the captured environment with the origin of the run, limited to the size of the first frame."""
    origin = {"imported_from": {"tracker": run.tracker, "id": run.key[:MAX_NAME]}}
    found: dict[str, Any] = {**plain(run.environment), **origin}
    if len(json.dumps(found)) <= MAX_ENVIRONMENT_BYTES:
        return found
    run.problems.add(f"its environment has more than {MAX_ENVIRONMENT_BYTES} bytes and is left out")
    return dict(origin)


def write(run: ForeignRun, header: Mapping[str, Any], *, file: BinaryIO) -> Written:
    """Write the journal of a run."""
    file.write(journal.file_header(journal_id(run)))
    file.write(journal.encode_run(header))
    for name, values in (("hparams", run.hparams), ("summary", run.summary)):
        for frame in _sets(run, name, values, float(header["created_at"])):
            file.write(frame)
    rows, output = _Rows(run, file), _Output(file)
    began = latest = float(header["created_at"])
    num_media = 0
    for found in run.events():
        event = _sound(found, began)
        latest = max(latest, event.time)
        if isinstance(event, Points):
            rows.add(event)
        elif isinstance(event, Medium):
            num_media += _medium(run, event, rows, file)
        elif isinstance(event, Alert):
            rows.flush()
            file.write(media.alert(event))
        else:
            output.add(event)
    rows.flush()
    output.flush()
    for frame in _sets(run, "axes", _axes(run, rows.series), latest):
        file.write(frame)
    ended = latest if run.ended_at is None else _moment(run.ended_at, latest)
    file.write(journal.encode_finish(run.state, time=ended, reason=run.reason[:2000]))
    return Written(rows.num_points, num_media)


def _sound(event: Event, began: float) -> Event:
    """Return the event with time and step clamped to valid ranges."""
    time = _moment(event.time, began)
    if isinstance(event, Printed):
        return event._replace(time=time)
    return event._replace(time=time, step=max(-(1 << 63), min(event.step, (1 << 63) - 1)))


def _moment(seconds: float, otherwise: float) -> float:
    return max(0.0, min(seconds, LATEST)) if math.isfinite(seconds) else otherwise


def _axes(run: ForeignRun, series: Series) -> dict[str, str]:
    """Return the axes of the logged metrics. A name with a trailing * applies to all metrics with that prefix; exact
    names and longer prefixes take precedence."""
    found: dict[str, str] = {}
    known = series.keys()
    for key in known:
        begun = [name for name in run.axes if name.endswith("*") and key.startswith(name[:-1])]
        axis = run.axes.get(key) or (run.axes[max(begun, key=len)] if begun else "")
        if axis in known and axis != key:
            found["/".join(series.of(key, None))] = "/".join(series.of(axis, None))
    if len(found) > MAX_AXES:
        run.problems.add(f"{len(found)} metrics have an axis of their own; {MAX_AXES} keep it")
    return dict(list(found.items())[:MAX_AXES])


class Series:
    """Assigns type and name to each metric, uniquely: if `val/x` exists, `valid/x` keeps its whole name."""

    def __init__(self) -> None:
        self._known: dict[tuple[Optional[str], str], tuple[str, str]] = {}
        self._taken: set[tuple[str, str]] = set()

    def keys(self) -> dict[str, None]:
        """Return the metrics so far for which the tracker has no type."""
        return {key: None for type, key in self._known if type is None}

    def of(self, key: str, type: Optional[str]) -> tuple[str, str]:
        known = self._known.get((type, key))
        if known is not None:
            return known
        first, slash, rest = key.partition("/")
        word = _TYPES.get(first.strip().lower()) if slash and rest else None
        wanted = (type, key) if type is not None else (word, rest) if word is not None else ("", key)
        cut = (wanted[0][:MAX_NAME], wanted[1][:MAX_NAME])
        number = 1
        while cut in self._taken:
            number += 1
            cut = ("", f"{key[: MAX_NAME - 8]}~{number}" if number > 2 else key[:MAX_NAME])
        if len(self._known) >= MAX_SERIES:
            raise ValueError(f"more than {MAX_SERIES} metrics")
        self._known[(type, key)] = cut
        self._taken.add(cut)
        return cut


class _Rows:
    """Collects points into frames: consecutive rows of one layout share a frame."""

    def __init__(self, run: ForeignRun, file: BinaryIO) -> None:
        self._run, self._file = run, file
        self._layouts: dict[tuple[str, tuple[str, ...]], int] = {}
        self._split: dict[tuple[Optional[str], tuple[str, ...]], list[tuple[str, tuple[str, ...], list[int]]]] = {}
        self._pending: dict[int, list[bytes]] = {}
        self._num_bytes = 0
        self.series = Series()
        self.num_points = 0

    def add(self, points: Points) -> None:
        keys = (points.type, tuple(sorted(points.values)))  # W&B writes the keys of each row in a different order
        try:
            split = self._split.get(keys) or self._divide(keys)
        except ValueError as error:
            self._run.problems.add(f"{len(keys[1])} values of step {points.step} are left out: {error}")
            return
        numbers = [points.values[key] for key in keys[1]]
        epoch = math.nan if points.epoch is None else points.epoch
        for type, names, places in split:
            number = self._layout(type, names)
            row = journal.row_struct(len(names)).pack(points.step, points.time, epoch, *(numbers[at] for at in places))
            self._pending.setdefault(number, []).append(row)
            self._num_bytes += len(row)
            self.num_points += len(names)
            if self._num_bytes >= MAX_ROW_BYTES or len(self._pending[number]) >= ROWS_AT_ONCE:
                self.flush()

    def flush(self) -> None:
        for number, rows in self._pending.items():
            self._file.write(journal.encode_points(number, rows))
        self._pending, self._num_bytes = {}, 0

    def _divide(self, keys: tuple[Optional[str], tuple[str, ...]]) -> list[tuple[str, tuple[str, ...], list[int]]]:
        """Assign values to layouts by type. At most 1,000 names per layout, so that they fit into a frame."""
        if len(self._split) >= MAX_SERIES:
            raise ValueError(f"more than {MAX_SERIES} sets of metric names")
        by_type: dict[tuple[str, int], tuple[list[str], list[int]]] = {}
        for at, key in enumerate(keys[1]):
            type, name = self.series.of(key, keys[0])
            names, places = by_type.setdefault((type, at // 1000), ([], []))
            names.append(name)
            places.append(at)
        self._split[keys] = [(type, tuple(names), places) for (type, _), (names, places) in by_type.items()]
        return self._split[keys]

    def _layout(self, type: str, names: tuple[str, ...]) -> int:
        number = self._layouts.get((type, names))
        if number is None:
            number = self._layouts[(type, names)] = len(self._layouts) + 1
            self._file.write(journal.encode_layout(journal.Layout(number, type, names)))
        return number


def _medium(run: ForeignRun, event: Medium, rows: _Rows, file: BinaryIO) -> int:
    first, slash, rest = event.name.partition("/")
    word = _TYPES.get(first.lower()) if event.type is None and slash and rest else None
    type, name = (word, rest) if word is not None else (event.type or "", event.name)
    about = {"type": type[:MAX_NAME], "name": name[:MAX_NAME], "step": event.step, "time": event.time}
    try:
        found = list(media.frames(about, kind=event.kind, data=event.data))
    except media.NotShown as error:
        run.problems.add(f"{event.kind} {event.name[:80]!r} of step {event.step}: {error}")
        return 0
    rows.flush()
    for frame in found:
        file.write(frame)
    return 1


class _Output:
    """Merges output within a second into one frame: trackers record each write of a `print` separately."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._begun: Optional[Printed] = None
        self._data = bytearray()

    def add(self, event: Printed) -> None:
        begun = self._begun
        if begun is None or begun.stream != event.stream or not 0 <= event.time - begun.time < 1:
            self.flush()
            self._begun = event
        self._data += event.data
        if len(self._data) >= OUTPUT_BYTES:
            self.flush()

    def flush(self) -> None:
        for first in range(0, len(self._data), OUTPUT_BYTES):
            assert self._begun is not None
            piece = bytes(self._data[first : first + OUTPUT_BYTES])
            self._file.write(journal.encode_output(self._begun.stream, self._begun.time, piece))
        self._begun, self._data = None, bytearray()


def _sets(run: ForeignRun, field: str, values: Mapping[str, Any], time: float) -> Iterator[bytes]:
    if not values:
        return
    frames, lost = journal.encode_sets(field, plain(values), room=journal.Room(), time=time)
    for key in lost:
        run.problems.add(f"{field} {key[:80]!r} is left out: a value has at most 1 MiB, all values together 16 MiB")
    yield from frames


def plain(value: Any, depth: int = 0) -> Any:
    """Convert a value to JSON: NaN and infinity become text, and so does everything below 32 levels."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return {str(key)[:1000]: plain(inner, depth + 1) for key, inner in value.items()}
    if depth < MAX_DEPTH and isinstance(value, (list, tuple)):
        return [plain(inner, depth + 1) for inner in value]
    return str(value)[:MAX_TEXT]
