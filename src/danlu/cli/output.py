"""What commands print: tables, JSON and notes; plain where nobody looks at a terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any, Optional, TextIO
from unicodedata import combining, east_asian_width

from pydantic import BaseModel

from danlu.spec.states import JobState
from danlu.spec.units import show_duration

_RANK_COLOURS = (36, 33, 35, 32, 34, 31)
_STATE_COLOURS = {
    JobState.QUEUED: 33,
    JobState.STARTING: 36,
    JobState.RUNNING: 36,
    JobState.STOPPING: 33,
    JobState.PAUSED: 33,
    JobState.SUCCEEDED: 32,
    JobState.FAILED: 31,
    JobState.STOPPED: 35,
}


def print_json(value: object) -> None:
    """Print wire models as JSON; a list of them as one array."""
    print(json.dumps(to_plain(value), indent=2, ensure_ascii=False))


def to_plain(value: object) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value


def note(text: str) -> None:
    """Tell something beside the output proper."""
    print(text, file=sys.stderr, flush=True)


def has_colour(stream: TextIO) -> bool:
    """Whether colours are wanted: a terminal, and nobody said no (`NO_COLOR`, `TERM=dumb`)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: int, stream: Optional[TextIO] = None) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if has_colour(stream or sys.stdout) else text


def state_text(state: JobState) -> str:
    return paint(str(state), _STATE_COLOURS.get(state, 37))


def rank_prefix(rank: int, width: int) -> str:
    """What stands before a line when several ranks share the screen."""
    return paint(f"{rank:>{width}} |", _RANK_COLOURS[rank % len(_RANK_COLOURS)]) + " "


def bold(text: str) -> str:
    return paint(text, 1)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns. Only the last column may be longer than the screen, and is cut there on a terminal."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(header))]
    limit = screen_width()
    shown = []
    for number, line in enumerate(lines):
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(line, widths)]
        text = "  ".join(cells).rstrip()
        shown.append(bold(text) if number == 0 else _cut(text, limit))
    return "\n".join(shown)


def screen_width() -> Optional[int]:
    """Columns of the terminal; None when it is none."""
    if not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def age(moment: Optional[datetime], now: Optional[datetime] = None) -> str:
    if moment is None:
        return "-"
    return show_duration(max(0.0, ((now or datetime.now(timezone.utc)) - moment).total_seconds()))


def lasted(begin: Optional[datetime], end: Optional[datetime]) -> str:
    return age(begin, end) if begin is not None else "-"


def _width(text: str) -> int:
    """Columns on a terminal: colours take none, wide characters two."""
    plain = _without_colour(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in plain)


def _without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _cut(text: str, limit: Optional[int]) -> str:
    if limit is None or _width(text) <= limit:
        return text
    kept = text
    while _width(kept) > limit - 1:
        kept = kept[:-1]
    return kept + "…"
