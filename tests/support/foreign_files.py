"""Writes files of other trackers, in the layouts that they document: what their own packages write is read alike."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BLOCK_BYTES = 32_768
WANDB_HEADER = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)
SWANLAB_HEADER = struct.pack("<4sHB", b":SWL", 0xE1D6, 2)
AT = 1_700_000_000
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763606060000000040001"
    "f6178e8d0000000049454e44ae426082"
)


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    parts = []
    while number > 0x7F:
        parts.append((number & 0x7F) | 0x80)
        number >>= 7
    return bytes((*parts, number))


def number_field(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def field(number: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def double_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def moment(seconds: float) -> bytes:
    whole = int(seconds)
    return number_field(1, whole) + number_field(2, round((seconds - whole) * 1e9))


def transaction_log(header: bytes, records: Sequence[bytes]) -> bytes:
    """Records in blocks of 32 KiB, as LevelDB lays them out."""
    out = bytearray(header)
    for record in records:
        rest, kind = record, 1
        while True:
            left = BLOCK_BYTES - len(out) % BLOCK_BYTES
            if left < 7:
                out += bytes(left)
                continue
            piece, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if not rest else 2) if kind == 1 else (4 if not rest else 3)
            crc = zlib.crc32(piece, zlib.crc32(bytes((kind,))))
            out += struct.pack("<IHB", crc, len(piece), kind) + piece
            if not rest:
                break
    return bytes(out)


def items(values: Mapping[str, Any], *, number: int = 1) -> bytes:
    """Items with keys and JSON: `a.b` is a nested key."""
    found = b""
    for key, value in values.items():
        names = key.split(".")
        keys = field(1, key) if len(names) == 1 else b"".join(field(2, name) for name in names)
        found += field(number, keys + field(16, json.dumps(value)))
    return found


def history(values: Mapping[str, Any], step: int) -> bytes:
    return field(2, items({**values, "_step": step, "_timestamp": AT + step}) + field(2, number_field(1, step)))


def wandb_run(
    top: Path, run_id: str, records: Sequence[bytes], *, files: Mapping[str, bytes] | None = None, **about: str
) -> Path:
    """An offline folder of W&B; return its .wandb file."""
    folder = top / f"offline-run-20231114_221320-{run_id}"
    (folder / "files").mkdir(parents=True)
    for name, data in (files or {}).items():
        (folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / name).write_bytes(data)
    numbers = {"entity": 2, "project": 3, "group": 6, "job_type": 7, "name": 8, "notes": 9, "sweep": 12, "host": 13}
    run = field(1, run_id) + b"".join(field(numbers[key], value) for key, value in about.items() if key in numbers)
    run += b"".join(field(10, tag) for tag in about.get("tags", "").split(",") if tag) + field(17, moment(AT))
    run += field(4, items({"lr": 0.1, "opt": {"name": "sgd"}, "_wandb": {}}))
    file = folder / f"run-{run_id}.wandb"
    file.write_bytes(transaction_log(WANDB_HEADER, [field(17, run), *records]))
    return file


def wandb_artifact(name: str, files: Mapping[str, Path], *, digest: str = "") -> bytes:
    """A record of an artifact that was logged, with its staged files."""
    entries = b""
    for path, place in files.items():
        data = place.read_bytes()
        md5 = digest or base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
        about = field(1, path) + field(2, md5) + number_field(4, len(data)) + field(6, str(place))
        entries += field(4, about)
    return field(8, field(2, "vision") + field(4, "model") + field(5, name) + field(6, "d1") + field(12, entries))


def swanlab_run(top: Path, run_id: str, records: Sequence[bytes], *, files: Mapping[str, bytes] | None = None) -> Path:
    folder = top / "swanlog" / f"run-20231114_221320-{run_id}"
    folder.mkdir(parents=True)
    for name, data in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    start = (
        field(1, "vision") + field(4, "first") + field(5, "notes") + field(6, "a") + field(7, "g1") + field(8, "fit")
    )
    start += field(10, run_id) + field(12, moment(AT))
    file = folder / f"run-{run_id}.swanlab"
    file.write_bytes(transaction_log(SWANLAB_HEADER, [field(10, start), *records]))
    return file


def swanlab_scalar(key: str, step: int, value: float) -> bytes:
    about = field(1, key) + number_field(2, step) + number_field(3, 1) + field(4, moment(AT + step))
    return field(13, about + field(5, double_field(1, value)))


def swanlab_medium(key: str, step: int, kind: int, file: str, caption: str = "") -> bytes:
    item = field(1, field(1, file) + field(4, caption))
    about = field(1, key) + number_field(2, step) + number_field(3, kind) + field(4, moment(AT + step))
    return field(14, about + field(5, item))
