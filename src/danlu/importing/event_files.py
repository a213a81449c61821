"""Read TensorBoard event files: scalars, texts, images, audio, histograms, PR curves and hyperparameters.

An event file is a sequence of TFRecords (length u64, its checksum u32, data, checksum u32), each an `Event` message:
wall_time 1, step 2, graph_def 4, summary 5, run metadata 8, meta graph 9. Only the needed fields are decoded here,
without TensorFlow or protobuf.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, Optional, Union

from danlu.importing import protobuf as pb
from danlu.importing.checksums import checksum_of
from danlu.importing.records import UNREADABLE
from danlu.journal.words import TYPES

MAX_EVENT_BYTES = 64 << 20
MAX_IN_ONE = 1000
MAX_NUMBERS = 1 << 20
"""Per tensor: larger ones are neither curves nor histograms, and could exhaust the memory."""

_OF_HPARAMS = re.compile(r"\d{9,11}\.\d+")
"""Names of the folders that SummaryWriter.add_hparams creates beside the run's own file: a time."""

_HEAD = struct.Struct("<QI")
_STRING = 7
_NUMBERS = {1: "f", 2: "d", 3: "i", 9: "q", 19: "e"}
"""dtype of a tensor -> struct format of its elements."""

_PR_ROWS = ("true_positives", "false_positives", "true_negatives", "false_negatives", "precision", "recall")
_ENCODED = {4: "image", 6: "audio"}
_ENDS = {1: "success", 2: "failure"}
_SKIPPED = {4: "graph", 8: "run metadata", 9: "meta graph"}


class Value(NamedTuple):
    """One value of one tag. `what` is a float, or a kind and its data:

    text str, image bytes, audio bytes, histogram (edges, counts), table (columns, rows), hparams dict, session dict
    (group, end), and `other`: the name of something unsupported, such as a graph or the plugin of a mesh.
    """

    tag: str
    step: int
    time: float
    what: Union[float, tuple[str, Any]]


class Trouble:
    """Why a file was not read completely; empty when it was."""

    def __init__(self) -> None:
        self.why = ""


def find_event_files(path: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    named = (os.path.join(parent, name) for parent, _, names in os.walk(path) for name in names if "tfevents" in name)
    return sorted(place for place in named if os.path.isfile(place))  # reading a pipe would block forever


def group_by_run(top: str, files: list[str]) -> dict[str, list[str]]:
    """Return folder below the top (empty for the top itself) -> its event files."""
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


def type_of(file: str) -> str:
    """Return the type after which the file's folder is named; else `train`."""
    return TYPES.get(os.path.basename(os.path.dirname(os.path.abspath(file))).lower(), "train")


def read_events(path: str, trouble: Optional[Trouble] = None) -> Iterator[Value]:
    """Yield the values of a file in order, without damaged events, up to the first record without a whole length."""
    told = trouble or Trouble()
    with open(path, "rb") as file:
        for number, (data, checksum) in enumerate(_records(file, told)):
            try:
                if checksum_of(data) != checksum:
                    raise ValueError("its checksum is another one")
                yield from _event(data)
            # its length is intact (see _records), so the records after it can still be read
            except UNREADABLE as error:
                told.why = told.why or f"event {number} is damaged: {error}"


def _records(file: BinaryIO, told: Trouble) -> Iterator[tuple[bytes, int]]:
    """Yield the data of each record, and the checksum that it should have."""
    while True:
        head = file.read(_HEAD.size)
        if not head:
            return
        if len(head) == _HEAD.size:
            length, checksum = _HEAD.unpack(head)
            if checksum_of(head[:8]) != checksum or length > MAX_EVENT_BYTES:
                told.why = f"the record at byte {file.tell() - _HEAD.size} is damaged, or has more than 64 MiB"
                return
            data, last = file.read(length), file.read(4)
            if len(data) == length and len(last) == 4:
                yield data, int.from_bytes(last, "little")
                continue
        told.why = "the last record is not whole"
        return


def _event(data: bytes) -> Iterator[Value]:
    time, step, summary = 0.0, 0, b""
    skipped: list[str] = []
    for field, value in pb.fields(data):
        if field == 1:
            (time,) = struct.unpack("<d", value)
        elif field == 2:
            step = pb.signed(value)
        elif field == 5:
            summary = value
        elif field in _SKIPPED:
            skipped.append(_SKIPPED[field])
    for what in skipped:
        yield Value("", step, time, ("other", what))
    for field, value in pb.fields(summary):
        if field == 1:
            yield from _values(value, step, time)


def _values(data: bytes, step: int, time: float) -> Iterator[Value]:
    tag, plugin, content = "", "", b""
    found: list[Union[float, tuple[str, Any]]] = []
    tensor: Optional[bytes] = None
    for field, value in pb.fields(data):
        if field == 1:
            tag = value.decode()
        elif field == 2:
            found = [float(struct.unpack("<f", value)[0])]
        elif field == 5:
            found = [("histogram", _histogram(value))]
        elif field in _ENCODED:
            found = [(_ENCODED[field], pb.sub(value, 4))]
        elif field == 8:
            tensor = value
        elif field == 9:
            plugin = pb.text(pb.sub(pb.sub(value, 1), 1))
            content = pb.sub(pb.sub(value, 1), 2) or b""
    if plugin == "hparams":
        yield from (Value(tag, step, time, said) for said in _said_of_session(content) if said[1])
        return
    if tensor is not None:
        found = _tensor(tensor, plugin)
    for at, what in enumerate(found):
        if tag and (isinstance(what, float) or what[1] is not None):
            yield Value(f"{tag}/{at}" if len(found) > 1 else tag, step, time, what)


def _said_of_session(content: bytes) -> list[tuple[str, Any]]:
    return [("hparams", _hparams(content)), ("session", _session(content))]


def _hparams(content: bytes) -> dict[str, Any]:
    """Return the hyperparameters of a session of the hparams plugin."""
    found: dict[str, Any] = {}
    for field, entry in pb.fields(pb.sub(content, 3)):
        if field == 1:
            name, value = pb.sub(entry, 1), pb.sub(entry, 2)
            for kind, data in pb.fields(value):
                if kind == 2:
                    (number,) = struct.unpack("<d", data)
                    found[name.decode()] = int(number) if number.is_integer() and abs(number) < 1 << 53 else number
                elif kind == 3:
                    found[name.decode()] = data.decode()
                elif kind == 4:
                    found[name.decode()] = bool(data)
    return found


def _session(content: bytes) -> dict[str, str]:
    """Return the group of a session and how it ended, which are in separate messages."""
    group, end = pb.text(pb.sub(pb.sub(content, 3), 4)), _ENDS.get(pb.sub(pb.sub(content, 4), 1), "")
    return {name: said for name, said in (("group", group), ("end", end)) if said}


def _tensor(data: bytes, plugin: str) -> list[Union[float, tuple[str, Any]]]:
    dtype, strings, numbers = _content(data)
    if dtype == _STRING:
        return _strings(strings, plugin)
    if plugin == "histograms" and numbers and len(numbers) % 3 == 0:
        edges = [numbers[0], *numbers[1::3]]
        return [("histogram", (edges, [int(count) for count in numbers[2::3]]))]
    if plugin == "pr_curves" and numbers and len(numbers) % len(_PR_ROWS) == 0:
        return [("table", _pr_curve(numbers))]
    return [numbers[0]] if len(numbers) == 1 else [_other(plugin)]


def _strings(strings: list[bytes], plugin: str) -> list[Union[float, tuple[str, Any]]]:
    if plugin == "images":
        return [("image", one) for one in strings[2:][:MAX_IN_ONE]]  # the first two are width and height
    if plugin == "audio":
        return [("audio", one) for one in strings[::2][:MAX_IN_ONE]]  # each is followed by its label
    if plugin in ("text", ""):
        return [("text", "\n".join(one.decode("utf-8", "replace") for one in strings))] if strings else []
    return [_other(plugin)]


def _other(plugin: str) -> tuple[str, Any]:
    return "other", f"plugin {plugin[:40]}" if plugin else "a tensor"


def _content(data: bytes) -> tuple[int, list[bytes], list[float]]:
    """Return a tensor's dtype, and its strings or numbers."""
    dtype, content, strings = 0, b"", []
    numbers = [0.0][:0]
    for field, value in pb.fields(data):
        if field == 1:
            dtype = value
        elif field == 4:
            content = value
        elif field == 5:
            numbers += pb.packed(value, "f")
        elif field == 6:
            numbers += pb.packed(value, "d")
        elif field in (7, 10) and isinstance(value, int):
            numbers.append(float(pb.signed(value)))
        elif field == 8:
            strings.append(value)
    if content and dtype in _NUMBERS:
        numbers = pb.packed(content[: MAX_NUMBERS * struct.calcsize(_NUMBERS[dtype])], _NUMBERS[dtype])
    return dtype, strings, numbers


def _pr_curve(numbers: list[float]) -> tuple[list[str], list[list[float]]]:
    """Convert a PR curve to a table. Thresholds are evenly spaced from 0 to 1."""
    size = len(numbers) // len(_PR_ROWS)
    columns = [numbers[at * size : (at + 1) * size] for at in range(len(_PR_ROWS))]
    rows = [[at / max(1, size - 1), *(column[at] for column in columns)] for at in range(size)]
    return ["threshold", *_PR_ROWS], rows


def _histogram(data: bytes) -> tuple[list[float], list[int]]:
    low, limits, counts = 0.0, [0.0][:0], [0.0][:0]
    for field, value in pb.fields(data):
        if field == 1:
            (low,) = struct.unpack("<d", value)
        elif field == 6:
            limits += pb.packed(value, "d")
        elif field == 7:
            counts += pb.packed(value, "d")
    return [min(low, *limits[:1]) if limits else low, *limits], [int(count) for count in counts]
