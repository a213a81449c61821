"""Constants that all writers of journals share: types of metrics and columns, and formats of media."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TYPES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validate": "val",
    "validation": "val",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluate": "test",
    "evaluation": "test",
}
"""Spellings in scripts -> the type."""

_FORMATS = (
    # offset, magic bytes, format
    (0, b"\x89PNG", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
)


def format_of(data: bytes) -> str:
    """Return the media type of a file's content; empty for unsupported ones."""
    return next((name for at, magic, name in _FORMATS if data[at : at + len(magic)] == magic), "")


def type_of_column(cells: Sequence[Any]) -> str:
    """Return the common type of a table column's cells, ignoring empty ones; `mixed` when they differ."""
    found = {
        "bool" if isinstance(cell, bool) else "number" if isinstance(cell, (int, float)) else "text"
        for cell in cells
        if cell is not None
    }
    return next(iter(found)) if len(found) == 1 else "mixed" if found else "text"
