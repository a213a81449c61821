"""The two indexes of a packed data set.

`.idx`, one per shard, text, for DALI and other readers. Exactly two columns: a third one would corrupt DALI's parser.

    <offset of the record> <size of the record including its 16 framing bytes>

`.index`, one per data set, Danlu's own: position and label of each image, so that no shard has to be read for them.

    at          bytes   content
    0           4       magic "DLRX"
    4           2       version, 1
    6           2       flags, 0
    8           8       N, number of entries
    16          4       J, bytes of the JSON that follows
    20          4       crc32c of JSON and entries
    24          J       JSON: kind, shards [{name, bytes}], classes [name, ...], made_with {...}
    pad to 64           zero bytes
    ...         32 N    entries, little-endian, see ENTRY
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from danlu_accel.records.crc32c import crc32c
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.example import Feature, decode_example
from danlu_accel.records.files import Name, write_whole
from danlu_accel.records.headers import image_size
from danlu_accel.records.tfrecord import FRAME_BYTES, scan

MAGIC = b"DLRX"
VERSION = 1
HEADER = struct.Struct("<4sHHQII")
ENTRY = np.dtype(
    [
        ("offset", "<u8"),  # of the record in its shard
        ("length", "<u4"),  # of the record's data, framing not counted
        ("image_at", "<u4"),  # where the image begins in the data
        ("image_bytes", "<u4"),
        ("label", "<i4"),  # -1: none
        ("shard", "<u4"),
        ("width", "<u2"),
        ("height", "<u2"),
    ]
)
ALIGNMENT = 64
BOXES = "image/object/bbox/xmin"
"""Records with this feature have boxes, even if this image has none."""
Entries = npt.NDArray[np.void]
BAD_JSON = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""Exceptions raised by reading JSON, and values in it, that Danlu did not write."""


@dataclass(frozen=True)
class Shard:
    name: str
    num_bytes: int


@dataclass(frozen=True)
class Index:
    shards: tuple[Shard, ...]
    entries: Entries
    classes: tuple[str, ...] = ()
    kind: str = "imagefold"
    made_with: dict[str, Any] = field(default_factory=dict)


def read_index(path: Name) -> Index:
    """Read a `.index`. Takes 32 bytes of memory per record."""
    path = Path(path)
    try:
        buffer = memoryview(path.read_bytes())  # not mapped: overwriting the index would kill the process by SIGBUS
    except OSError as error:
        raise BadRecordFile(f"no index {str(path)!r}: {error.strerror}; `danlu-records pack` makes one") from error
    return parse_index(buffer, name=str(path))


def parse_index(buffer: memoryview, *, name: str = "index") -> Index:
    if len(buffer) < HEADER.size or bytes(buffer[:4]) != MAGIC:
        raise BadRecordFile(f"{name}: not a Danlu .index file (it should begin with DLRX)")
    _, version, _, num_entries, json_bytes, crc = HEADER.unpack_from(buffer)
    if version > VERSION:
        raise BadRecordFile(f"{name}: format {version}, this danlu-accel reads up to {VERSION}; upgrade danlu-accel")
    entries_at = _aligned(HEADER.size + json_bytes)
    if len(buffer) != entries_at + num_entries * ENTRY.itemsize:
        raise BadRecordFile(
            f"{name}: {len(buffer)} bytes do not hold {num_entries} entries; the file is cut or damaged"
        )
    if crc32c(buffer[HEADER.size :]) != crc:
        raise BadRecordFile(f"{name}: fails its checksum; the file is damaged")
    try:
        about = json.loads(bytes(buffer[HEADER.size : HEADER.size + json_bytes]))
        shards = shards_named(about["shards"], name)
        classes, kind, made_with = tuple(about["classes"]), str(about["kind"]), dict(about["made_with"])
    except BAD_JSON as error:
        raise BadRecordFile(f"{name}: its JSON part cannot be read: {error!r}") from error
    entries: Entries = np.frombuffer(buffer, ENTRY, num_entries, entries_at)
    _check_entries(entries, shards, name)
    return Index(shards, entries, classes, kind, made_with)


def shards_named(rows: list[dict[str, Any]], name: str) -> tuple[Shard, ...]:
    """Return the shards in the JSON part of an index; reject names and sizes that later code could not use."""
    for row in rows:
        # An index from elsewhere must not name files outside its folder.
        shard, num_bytes = row["name"], row["bytes"]
        if not isinstance(shard, str) or shard in ("", ".", "..") or Path(shard).name != shard:
            raise BadRecordFile(f"{name}: expected shards beside the index, got the name {shard!r}")
        if type(num_bytes) is not int or not 0 <= num_bytes < 1 << 63:
            raise BadRecordFile(f"{name}: bytes of the shard {shard!r}: expected 0 to 2^63 - 1, got {num_bytes!r:.40}")
    return tuple(Shard(row["name"], row["bytes"]) for row in rows)


def write_index(path: Name, index: Index) -> None:
    """Write a `.index` atomically."""
    about = {
        "kind": index.kind,
        "shards": [{"name": shard.name, "bytes": shard.num_bytes} for shard in index.shards],
        "classes": list(index.classes),
        "made_with": index.made_with,
    }
    text = json.dumps(about, ensure_ascii=False, sort_keys=True).encode()
    padding = bytes(_aligned(HEADER.size + len(text)) - HEADER.size - len(text))
    body = text + padding + np.ascontiguousarray(index.entries, ENTRY).tobytes()
    head = HEADER.pack(MAGIC, VERSION, 0, len(index.entries), len(text), crc32c(body))
    write_whole(Path(path), [head, body])


def write_idx(path: Name, entries: Entries) -> None:
    """Write the two-column `.idx` of one shard."""
    lines = [f"{offset} {length + FRAME_BYTES}\n" for offset, length in zip(entries["offset"], entries["length"])]
    write_whole(Path(path), ["".join(lines).encode()])


def index_shards(paths: Iterable[Name], *, verify: bool = True) -> Index:
    """Index shards written by other software. Reads each once, from start to end."""
    shards, tables = [], []
    has_boxes = False
    for number, path in enumerate(Path(path) for path in paths):
        rows = []
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for offset, data in scan(file, size, verify=verify, name=path.name):
                features = decode_example(data)
                has_boxes = has_boxes or BOXES in features
                rows.append(_entry_of(features, data, offset, number, path.name))
        tables.append(np.array(rows, ENTRY))
        shards.append(Shard(path.name, size))
    entries = np.concatenate(tables) if tables else np.zeros(0, ENTRY)
    return Index(tuple(shards), entries, kind="coco" if has_boxes else "imagefold")


def _check_entries(entries: Entries, shards: tuple[Shard, ...], name: str) -> None:
    """Reject entries that point outside of their shard, before they cause huge memory allocations."""
    if not len(entries):
        return
    if int(entries["shard"].max()) >= len(shards):
        raise BadRecordFile(f"{name}: an entry points to shard {entries['shard'].max()}, there are {len(shards)}")
    sizes = np.array([shard.num_bytes for shard in shards], np.uint64)[entries["shard"]]
    length = entries["length"].astype(np.uint64)
    too_far = (entries["offset"] > sizes) | (
        length + np.uint64(FRAME_BYTES) > sizes - np.minimum(entries["offset"], sizes)
    )
    outside = entries["image_at"].astype(np.uint64) + entries["image_bytes"] > length
    wrong = np.flatnonzero(too_far | outside)
    if len(wrong):
        shard = shards[int(entries["shard"][wrong[0]])].name
        raise BadRecordFile(f"{name}: entry {wrong[0]} points outside of {shard}; index and shard are not of one pack")


def _entry_of(features: dict[str, Feature], data: memoryview, offset: int, shard: int, name: str) -> tuple[int, ...]:
    images = features.get("image/encoded") or features.get("image") or []
    if not images or not isinstance(images[0], memoryview):
        raise BadRecordFile(
            f"{name}: the record at byte {offset} has no feature image/encoded; it has {sorted(features)}"
        )
    image = images[0]
    labels = features.get("image/class/label") or features.get("label") or [-1]
    label = labels[0] if isinstance(labels[0], int) else -1
    width, height = image_size(image)
    return offset, len(data), _position(image, data), len(image), label, shard, width, height


def _position(part: memoryview, whole: memoryview) -> int:
    if not len(part):
        return 0
    address = np.frombuffer(part, np.uint8).ctypes.data - np.frombuffer(whole, np.uint8).ctypes.data
    return int(address)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


__all__ = ["ENTRY", "Index", "Shard", "index_shards", "parse_index", "read_index", "write_idx", "write_index"]
