"""Write media of other trackers as journal frames. Files are kept as they are; formats that cannot be shown are
rejected."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from danlu import journal
from danlu.importing.files import load_json
from danlu.importing.records import Alert
from danlu.journal.words import format_of, type_of_column

PART_BYTES = journal.MAX_PAYLOAD_BYTES - 4096
MAX_BYTES = 32 << 20
MAX_ROWS = 10_000
MAX_COLUMNS = 1000
MAX_BINS = 100_000
HUGE = 1e300
"""Histogram edges are clamped to this: TensorBoard's outermost are ±1.8e308."""

PLOTLY = "application/vnd.plotly.v1+json"
MAX_HTML_BYTES = 8 << 20
_SPELLED = {
    "text": "text/plain",
    "table": "application/json",
    "histogram": "application/json",
    "html": "text/html",
    "plotly": PLOTLY,
}
"""Kinds whose content is created here -> format."""

_LEVELS = {"warn": "warning", "warning": "warning", "error": "error", "critical": "error", "fatal": "error"}
MAX_TITLE, MAX_ALERT = 200, 16_384


class NotShown(ValueError):
    """The medium is not supported; the message says why."""


def frames(about: Mapping[str, Any], *, kind: str, data: bytes) -> Iterator[bytes]:
    """Yield the frames of a medium. Raises NotShown when an image, sound or video has an unsupported format."""
    most = MAX_HTML_BYTES if kind == "html" else MAX_BYTES
    if len(data) > most:
        raise NotShown(f"it has {len(data)} bytes; {most} are the most")
    chosen = _SPELLED.get(kind) or format_of(data)
    if kind not in _SPELLED:
        kind = chosen.partition("/")[0]  # a GIF among videos is shown as an image
        if not chosen:
            raise NotShown(f"its first bytes are {data[:8]!r}, which is no image, sound or video that is shown here")
    parts = max(1, math.ceil(len(data) / PART_BYTES))
    for part in range(parts):
        piece = data[part * PART_BYTES : (part + 1) * PART_BYTES]
        yield journal.encode_media({**about, "kind": kind, "format": chosen, "part": part, "parts": parts}, piece)


def alert(said: Alert) -> bytes:
    """Return the frame of an alert. Alerts older than a day are only shown on the run's page, without a notice."""
    about = {
        "kind": "alert",
        "type": "alert",
        "name": said.title.strip()[:MAX_TITLE] or "alert",
        "level": _LEVELS.get(said.level.strip().lower(), "info"),
        "step": said.step,
        "time": said.time,
        "format": _SPELLED["text"],
        "part": 0,
        "parts": 1,
    }
    return journal.encode_media(about, said.text[:MAX_ALERT].encode("utf-8", "replace"))


def histogram(edges: Sequence[float], counts: Sequence[float]) -> bytes:
    """Encode an existing histogram."""
    if len(edges) != len(counts) + 1 or len(counts) > MAX_BINS:
        raise NotShown(f"{len(counts)} counts need {len(counts) + 1} edges and at most {MAX_BINS} bins")
    if any(math.isnan(edge) for edge in edges) or not all(math.isfinite(count) for count in counts):
        raise NotShown("an edge or a count is no number")
    finite = [max(-HUGE, min(HUGE, float(edge))) for edge in edges]
    return json.dumps({"edges": finite, "counts": [int(count) for count in counts]}).encode()


def table(columns: Sequence[Any], rows: Sequence[Sequence[Any]]) -> bytes:
    """Encode a table. Raises NotShown when it has too many rows or columns, or a row has missing cells."""
    names = [str(name) for name in columns]
    if len(rows) > MAX_ROWS or len(names) > MAX_COLUMNS:
        raise NotShown(f"it has {len(rows)} rows and {len(names)} columns; {MAX_ROWS} and {MAX_COLUMNS} are the most")
    wrong = next((at for at, row in enumerate(rows) if len(row) != len(names)), None)
    if wrong is not None:
        raise NotShown(f"expected {len(names)} cells in row {wrong}, got {len(rows[wrong])}")
    cells = [[_cell(cell) for cell in row] for row in rows]
    types = [type_of_column([row[at] for row in cells]) for at in range(len(names))]
    return json.dumps({"columns": names, "types": types, "rows": cells}, allow_nan=False).encode()


def plotly(data: bytes) -> bytes:
    """Encode a Plotly figure from its JSON. Raises NotShown when it is invalid."""
    found = load_json(data)
    if not isinstance(found, dict) or not isinstance(found.get("data"), list):
        raise NotShown("a figure of Plotly has data and a layout")
    try:
        return json.dumps({name: found.get(name) for name in ("data", "layout")}, allow_nan=False).encode()
    except ValueError:
        raise NotShown("a figure of Plotly has numbers that JSON cannot represent") from None


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    return json.dumps(value, default=str)
