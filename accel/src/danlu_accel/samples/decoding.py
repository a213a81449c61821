"""Decode the bytes of a field by the name of the field. Never loads a pickle.

| suffix after the last dot | value |
|---|---|
| txt, text, transcript | str |
| json | any JSON value |
| cls, cls2, class, count, index, inx, id | int |
| npy | numpy array |
| wav, flac, ogg, mp3 | Audio |
| jpg, jpeg, png, webp, bmp, ppm, tif, tiff | PIL image, RGB |
| anything else | bytes |
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from danlu_accel.records.errors import BadRecordFile, BrokenImage
from danlu_accel.records.lazy_picture import open_lazily
from danlu_accel.samples.arrays import decode_array
from danlu_accel.samples.audio import decode_audio


def decode_field(name: str, data: memoryview) -> Any:
    """Return the value of a field. Raises BadRecordFile or BrokenImage if the bytes do not match its name."""
    return _DECODERS.get(name.rpartition(".")[2], bytes)(data)


def _text(data: memoryview) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise BadRecordFile(f"expected UTF-8, got {error}") from error


def _json(data: memoryview) -> Any:
    try:
        return json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise BadRecordFile(f"expected JSON, got {bytes(data[:40])!r}: {error}") from error


def _number(data: memoryview) -> int:
    try:
        return int(bytes(data))
    except ValueError as error:  # also numbers of more than 4300 digits, Python's limit
        got = repr(bytes(data[:40])) if len(data) <= 40 else f"{len(data)} bytes that begin with {bytes(data[:40])!r}"
        raise BadRecordFile(f"expected a whole number, got {got}") from error


def _picture(data: memoryview) -> Any:
    return open_lazily(data)


_DECODERS: dict[str, Callable[[memoryview], Any]] = {
    **dict.fromkeys(("txt", "text", "transcript"), _text),
    "json": _json,
    **dict.fromkeys(("cls", "cls2", "class", "count", "index", "inx", "id"), _number),
    "npy": decode_array,
    **dict.fromkeys(("wav", "flac", "ogg", "mp3"), lambda data: decode_audio(bytes(data))),
    **dict.fromkeys(("jpg", "jpeg", "png", "webp", "bmp", "ppm", "tif", "tiff"), _picture),
}
DAMAGE = (BadRecordFile, BrokenImage)
