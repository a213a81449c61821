"""Reads TensorBoard event files into runs: scalars, texts, images, histograms and hyperparameters.

An event file is a sequence of TFRecords (length u64, its checksum u32, data, checksum u32), each a protobuf message
`Event`. The few fields that matter are read here, so that neither TensorFlow nor protobuf is needed.
"""

from __future__ import annotations

import math
import os
import re
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from danlu.journal.event_files import record, scalar_event, version_event
from danlu.track import media
from danlu.track.values import TYPES, type_word

if TYPE_CHECKING:
    from danlu.track.run import Run

MAX_EVENT_BYTES = 64 << 20
_OF_HPARAMS = re.compile(r"\d{9,11}\.\d+")
"""Folders that SummaryWriter.add_hparams makes beside the run's own file: the time."""

_DT_FLOAT, _DT_DOUBLE, _DT_STRING = 1, 2, 7


class Value(NamedTuple):
    """One value of one tag. `what` is a float, or ("text" | "image" | "histogram" | "hparams", data)."""

    tag: str
    step: int
    time: float
    what: Union[float, tuple[str, Any]]


class Imported(NamedTuple):
    num_points: int
    num_media: int
    num_files: int
    runs: tuple[Run, ...] = ()


def import_tensorboard(path: Union[str, Path], run: Optional[Run] = None, *, name: Optional[str] = None) -> Imported:
    """Read an event file, or all below a folder, into a run; without one, into new runs that are then finished.

    Every folder with event files is a run of its own, but for folders that are called like a type (`validation`) and
    those that `add_hparams` makes: these belong to the folder around them. The type is the first part of a tag
    (`val/loss`) or that folder when it is one of ours, else `train`. Raises FileNotFoundError when there is no event
    file. A file that is cut off gives what is whole.
    """
    top = os.path.abspath(os.fspath(path))
    files = find_event_files(top)
    if not files:
        raise FileNotFoundError(2, "no TensorBoard event file (events.out.tfevents...)", os.fspath(path))
    if run is not None:
        return _import(files, run)
    from danlu.track.begin import start

    called, parts = name or os.path.basename(top), []
    for folder, inside in group_by_run(top, files).items():
        into = start(f"{called}/{folder}" if folder else called, {})
        parts.append(_import(inside, into))
        into.finish()
    return Imported(
        sum(one.num_points for one in parts),
        sum(one.num_media for one in parts),
        len(files),
        tuple(run for one in parts for run in one.runs),
    )


def export_tensorboard(job: str, folder: Union[str, Path]) -> int:
    """Write the metrics of a job's runs, as the server has them, as event files below a folder; return how many runs.

    Of a series with many points 20,000 are written.
    """
    from danlu.client import Client
    from danlu.spec.runs import SYSTEM

    num_runs = 0
    with Client() as client:
        for summary in client.runs.list(job=job):
            run = client.runs.get(summary.id)
            names = [f"{one.type}/{one.name}" for one in run.series() if one.type != SYSTEM]
            events = [record(version_event(time.time()))]
            for points in run.all_points(names, max_points=20_000):
                tag = f"{points.type}/{points.name}"
                events += [
                    record(scalar_event(at, step, tag=tag, value=math.nan if value is None else value))
                    for step, at, value in zip(points.step, points.time, points.value)
                ]
            place = Path(folder) / run.id
            place.mkdir(parents=True, exist_ok=True)
            (place / f"events.out.tfevents.{int(time.time())}.danlu").write_bytes(b"".join(events))
            num_runs += 1
    return num_runs


def group_by_run(top: str, files: list[str]) -> dict[str, list[str]]:
    """Folder below the top (empty for the top itself) -> its event files."""
    found: dict[str, list[str]] = {}
    for file in files:
        folder = os.path.dirname(file)
        while folder != top and (
            os.path.basename(folder).lower() in TYPES or _OF_HPARAMS.fullmatch(os.path.basename(folder))
        ):
            folder = os.path.dirname(folder)
        inner = os.path.relpath(folder, top) if len(folder) > len(top) else "."
        found.setdefault("" if inner == "." else inner.replace(os.sep, "/"), []).append(file)
    return found


def _import(files: list[str], into: Run) -> Imported:
    num_points = num_media = 0
    for file in files:
        folder_type = TYPES.get(os.path.basename(os.path.dirname(os.path.abspath(file))).lower(), "train")
        for value in read_events(file):
            kind, metric = split_tag(value.tag, folder_type)
            if isinstance(value.what, float):
                into.log_past(kind, {metric: value.what}, step=value.step, time=value.time)
                num_points += 1
            elif value.what[0] == "hparams":
                into.hparams.update(value.what[1])
            else:
                _log_media(into, kind, metric, value)
                num_media += 1
    return Imported(num_points, num_media, len(files), (into,))


def find_event_files(path: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    return sorted(
        os.path.join(parent, name) for parent, _, names in os.walk(path) for name in names if "tfevents" in name
    )


def split_tag(tag: str, otherwise: str) -> tuple[str, str]:
    """Type and name: `validation/loss` and `epoch_loss` of a folder `validation` are both `val`."""
    first, slash, rest = tag.partition("/")
    if slash and rest and first.lower() in TYPES:
        return type_word(first), rest
    return otherwise, tag


def read_events(path: str) -> Iterator[Value]:
    """The values of a file, in order, as far as it is whole."""
    with open(path, "rb") as file:
        while True:
            head = file.read(12)
            if len(head) < 12:
                return
            (length,) = struct.unpack("<Q", head[:8])
            if length > MAX_EVENT_BYTES:
                return
            data = file.read(length)
            if len(data) < length or len(file.read(4)) < 4:
                return
            try:
                yield from _event(data)
            except (ValueError, IndexError, struct.error, UnicodeDecodeError):
                return  # damaged: nothing behind it can be trusted


def _event(data: bytes) -> Iterator[Value]:
    time, step, summary = 0.0, 0, b""
    for field, value in _fields(data):
        if field == 1:
            (time,) = struct.unpack("<d", value)
        elif field == 2:
            step = value - (1 << 64) if value >= 1 << 63 else value
        elif field == 5:
            summary = value
    for field, value in _fields(summary):
        if field == 1:
            yield from _value(value, step, time)


def _value(data: bytes, step: int, time: float) -> Iterator[Value]:
    tag, plugin, content = "", "", b""
    found: Union[float, tuple[str, Any], None] = None
    for field, value in _fields(data):
        if field == 1:
            tag = value.decode()
        elif field == 2:
            found = float(struct.unpack("<f", value)[0])
        elif field == 4:
            found = ("image", _sub(value, 4))
        elif field == 5:
            found = ("histogram", _histogram(value))
        elif field == 8:
            found = ("tensor", value)
        elif field == 9:
            plugin = (_sub(_sub(value, 1), 1) or b"").decode()
            content = _sub(_sub(value, 1), 2) or b""
    if plugin == "hparams":
        hparams = _hparams(content)
        if hparams:
            yield Value(tag, step, time, ("hparams", hparams))
        return
    if isinstance(found, tuple) and found[0] == "tensor":
        found = _tensor(found[1], plugin)
    if found is not None and tag:
        yield Value(tag, step, time, found)


def _hparams(content: bytes) -> dict[str, Any]:
    """The values that a session of the hparams plugin began with."""
    found: dict[str, Any] = {}
    for field, entry in _fields(_sub(content, 3)):
        if field == 1:
            name, value = _sub(entry, 1), _sub(entry, 2)
            for kind, data in _fields(value):
                if kind == 2:
                    (number,) = struct.unpack("<d", data)
                    found[name.decode()] = int(number) if number.is_integer() and abs(number) < 1 << 53 else number
                elif kind == 3:
                    found[name.decode()] = data.decode()
                elif kind == 4:
                    found[name.decode()] = bool(data)
    return found


def _tensor(data: bytes, plugin: str) -> Union[float, tuple[str, Any], None]:
    dtype, content, strings, floats = 0, b"", [], []
    for field, value in _fields(data):
        if field == 1:
            dtype = value
        elif field == 4:
            content = value
        elif field == 5:
            floats += _packed(value, "f")
        elif field == 6:
            floats += _packed(value, "d")
        elif field == 8:
            strings.append(value)
    if content and dtype in (_DT_FLOAT, _DT_DOUBLE):
        floats = _packed(content, "f" if dtype == _DT_FLOAT else "d")
    if dtype == _DT_STRING and strings and plugin == "images":
        return ("image", strings[-1])  # width and height come before it
    if dtype == _DT_STRING and strings:
        return ("text", strings[0].decode("utf-8", "replace"))
    if plugin == "histograms" and floats and len(floats) % 3 == 0:
        edges = [floats[0], *floats[1::3]]
        return ("histogram", (edges, [int(count) for count in floats[2::3]]))
    return floats[0] if len(floats) == 1 else None


def _histogram(data: bytes) -> tuple[list[float], list[int]]:
    low, limits, counts = 0.0, [0.0][:0], [0.0][:0]
    for field, value in _fields(data):
        if field == 1:
            (low,) = struct.unpack("<d", value)
        elif field == 6:
            limits += _packed(value, "d")
        elif field == 7:
            counts += _packed(value, "d")
    return [min(low, *limits[:1]) if limits else low, *limits], [int(count) for count in counts]


def _log_media(run: Run, kind: str, metric: str, value: Value) -> None:
    assert isinstance(value.what, tuple)
    what, data = value.what
    if what == "histogram":
        edges, counts = data
        # TensorBoard's outermost limits are ±1.8e308, which no chart can show
        finite = [max(-1e300, min(1e300, edge)) for edge in edges]
        run.add_media(
            "histogram", metric, step=value.step, type=kind, value=media.counted(finite, counts), time=value.time
        )
    elif what == "image":
        run.add_media("image", metric, step=value.step, type=kind, value=data, time=value.time)
    else:
        run.add_media("text", metric, step=value.step, type=kind, value=data, time=value.time)


def _fields(data: Optional[bytes]) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers as int, everything else as bytes."""
    data = data or b""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _varint(data, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if at + length > end:
            raise ValueError("a field is longer than its message")
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def _sub(data: Any, wanted: int) -> Any:
    return next((value for field, value in _fields(data or b"") if field == wanted), None)


def _packed(data: bytes, code: str) -> list[float]:
    size = struct.calcsize(code)
    return [float(value) for (value,) in struct.iter_unpack("<" + code, data[: len(data) // size * size])]
