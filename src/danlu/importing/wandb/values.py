"""Values of W&B that are not numbers: texts, and media, whose JSON refers to files below `files/media`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from danlu.importing import media
from danlu.importing.files import load_json, read_inside
from danlu.importing.records import UNREADABLE, Problems

MAX_IN_ONE = 1000
_SEVERAL = {
    "images": "image",
    "images/separated": "image",
    "audio": "audio",
    "videos": "video",
    "video": "video",
}
_SINGLE = {"image-file": "image", "audio-file": "audio", "video-file": "video", "html-file": "html"}
_TABLES = ("table-file", "table", "incremental-table-file", "partitioned-table", "joined-table")
MediumFound = tuple[str, str, bytes]
"""(kind, name, content)."""


def media_of(name: str, value: Any, *, files: Path, problems: Problems) -> Iterator[MediumFound]:
    """Yield the media of one value. Unsupported media are reported; their files are still among the files of the
    run."""
    try:
        yield from _media_of(name, value, files)
    except UNREADABLE as error:
        problems.add(f"{name[:80]!r}: {error}")


def _media_of(name: str, value: Any, files: Path) -> Iterator[MediumFound]:
    if not isinstance(value, dict):
        yield "text", name, (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace")
        return
    kind = str(value.get("_type"))
    if kind in _SINGLE:
        yield from _file(_SINGLE[kind], name, value, files)
    elif kind in _SEVERAL:
        names = value.get("filenames")
        if isinstance(names, list):
            told = value.get("captions")
            captions = told if isinstance(told, list) else []
            each = [
                {"path": one, "caption": captions[at] if at < len(captions) else None} for at, one in enumerate(names)
            ]
        else:
            each = [one for one in value.get(kind, []) if isinstance(one, dict)]
        if len(each) > MAX_IN_ONE:
            raise ValueError(f"{len(each)} files in one value; {MAX_IN_ONE} are the most")
        for at, one in enumerate(each):
            yield from _file(_SEVERAL[kind], f"{name}/{at}" if len(each) > 1 else name, one, files)
    elif kind == "histogram":
        yield "histogram", name, _histogram(value)
    elif kind == "plotly-file":
        yield "plotly", name, media.plotly(read_inside(files, str(value.get("path")), max_bytes=media.MAX_BYTES))
    elif kind in _TABLES and value.get("path"):
        yield "table", name, _table(read_inside(files, str(value["path"]), max_bytes=media.MAX_BYTES))
    else:
        raise ValueError(f"a {kind[:40]!r} has no page here; its file is kept with the files of the run")


def _file(kind: str, name: str, value: dict[str, Any], files: Path) -> Iterator[MediumFound]:
    yield kind, name, read_inside(files, str(value.get("path")), max_bytes=media.MAX_BYTES)
    caption = value.get("caption")
    if caption and isinstance(caption, str):
        yield "text", f"{name}/caption", caption.encode("utf-8", "replace")


def _histogram(value: dict[str, Any]) -> bytes:
    counts, edges, packed = value.get("values"), value.get("bins"), value.get("packedBins")
    if not isinstance(counts, list) or len(counts) > media.MAX_BINS:
        raise ValueError("a histogram has a list of values")
    if isinstance(packed, dict):
        low, width, number = float(packed["min"]), float(packed["size"]), len(counts)
        edges = [low + width * at for at in range(number + 1)]
    if not isinstance(edges, list):
        raise ValueError("a histogram has a list of bins")
    return media.histogram([float(edge) for edge in edges], [float(count) for count in counts])


def _table(data: bytes) -> bytes:
    found = load_json(data)
    if (
        not isinstance(found, dict)
        or not isinstance(found.get("columns"), list)
        or not isinstance(found.get("data"), list)
    ):
        raise ValueError("a table has columns and data")
    rows = [row if isinstance(row, list) else [row] for row in found["data"]]
    return media.table(found["columns"], rows)
