"""Check, describe and unpack packed data."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.example import decode_example
from danlu_accel.records.files import Name
from danlu_accel.records.index import Index, read_index
from danlu_accel.records.shards import ShardFiles


@dataclass(frozen=True)
class Fault:
    position: int
    """Entry of the index."""
    shard: str
    why: str


@dataclass(frozen=True)
class Description:
    num_images: int
    num_shards: int
    num_bytes: int
    num_classes: int
    kind: str
    mean_width: float
    mean_height: float
    mean_image_bytes: float
    made_with: dict[str, object]


def check(index_path: Name, *, decode: bool = False) -> list[Fault]:
    """Verify lengths and checksums of every record, and with `decode` that Pillow loads every image."""
    index, shards = _opened(index_path)
    faults = []
    for position, entry in enumerate(index.entries):
        try:
            image = shards.image(entry)
            if decode:
                with Image.open(io.BytesIO(image)) as picture:
                    picture.load()
        except (BadRecordFile, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            faults.append(Fault(position, index.shards[int(entry["shard"])].name, str(error)))
    return faults


def describe(index_path: Name) -> Description:
    """Describe the content of a packed data set, from its index alone."""
    index = read_index(index_path)
    entries = index.entries
    is_empty = len(entries) == 0
    labels = np.unique(entries["label"])
    return Description(
        num_images=len(entries),
        num_shards=len(index.shards),
        num_bytes=sum(shard.num_bytes for shard in index.shards),
        num_classes=sum(map(bool, index.classes)) or int((labels >= 0).sum()),
        kind=index.kind,
        mean_width=0.0 if is_empty else float(entries["width"].mean()),
        mean_height=0.0 if is_empty else float(entries["height"].mean()),
        mean_image_bytes=0.0 if is_empty else float(entries["image_bytes"].mean()),
        made_with=index.made_with,
    )


def unpack(index_path: Name, target: Name) -> int:
    """Write every image to a file under its packed name; return their number."""
    index, shards = _opened(index_path)
    root = Path(target).resolve()
    count = 0
    for name, image in _named_images(index, shards):
        path = (root / name).resolve()
        if root not in path.parents:  # a foreign shard may name ../../etc/passwd
            raise BadRecordFile(f"the packed name {name!r} leads out of {str(root)!r}; nothing was written for it")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
        count += 1
    return count


def _named_images(index: Index, shards: ShardFiles) -> Iterator[tuple[str, memoryview]]:
    for position, entry in enumerate(index.entries):
        names = decode_example(shards.record(entry)).get("image/filename") or []
        name = str(names[0], "utf-8") if names and isinstance(names[0], memoryview) else f"{position:08d}.jpg"
        yield name, shards.image(entry)


def _opened(index_path: Name) -> tuple[Index, ShardFiles]:
    index = read_index(index_path)
    return index, ShardFiles(Path(index_path).parent, index)
