"""Layout of output: tables, facts, times. Foreign text stays within its cell or line."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Optional
from unicodedata import combining, east_asian_width

from danlu.cli.terminal import join_styles, one_line, paint, split_styles
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


_PIECES = re.compile(r"\s*[（《]*(?:[\u2e80-\uffe6]|[^\s\u2e80-\uffe6]+)[，。；：、）》？！]*")
"""A word or a Chinese character, with the space before it and the marks that must not stand apart from it."""


def state_text(state: JobState) -> str:
    return paint(str(state), _STATE_COLOURS.get(state, 37))


def rank_prefix(rank: int, width: int) -> str:
    """Prefix of a log line, if there are several ranks."""
    return paint(f"{rank:>{width}} |", _RANK_COLOURS[rank % len(_RANK_COLOURS)]) + " "


def bold(text: str) -> str:
    return paint(text, 1)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns. Only the last column may be longer than the screen, and is cut there on a terminal."""
    lines = [list(header), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(header))]
    limit = screen_width()
    shown = []
    for number, line in enumerate(lines):
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(line, widths)]
        text = "  ".join(cells).rstrip()
        shown.append(bold(text) if number == 0 else _cut(text, limit))
    return "\n".join(shown)


def facts(title: str, values: Mapping[str, str], *, width: int = 10) -> str:
    """A title and a line for each value that is not empty; further lines of a value are indented below it."""
    indent = " " * (width + 3)
    rows = [f"  {one_line(name):<{width}} {indented(value, indent)}" for name, value in values.items() if value]
    return "\n".join([bold(one_line(title)), *rows])


def indented(text: str, indent: str) -> str:
    """Indent all lines but the first."""
    return text.replace("\n", f"\n{indent}")


def wrapped(text: str, limit: int) -> list[str]:
    """Lines of up to `limit` columns: broken at spaces, and between Chinese characters."""
    lines = [""]
    for piece in _PIECES.findall(text):
        if _width(lines[-1]) + _width(piece.rstrip()) > limit and lines[-1]:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return [line.rstrip() for line in lines]


def screen_width() -> Optional[int]:
    """Columns of the terminal; None without one."""
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
    """Columns on a terminal: styles take none, wide characters two."""
    return sum(_char_width(char) for piece in split_styles(text)[::2] for char in piece)


def _char_width(char: str) -> int:
    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1


def _cut(text: str, limit: Optional[int]) -> str:
    if limit is None or _width(text) <= limit:
        return text
    left = limit - 1  # for the sign that something is cut
    pieces = split_styles(text)
    for place in range(0, len(pieces), 2):
        kept = 0
        while kept < len(pieces[place]) and _char_width(pieces[place][kept]) <= left:
            left -= _char_width(pieces[place][kept])
            kept += 1
        if kept < len(pieces[place]):
            pieces[place], left = pieces[place][:kept], 0
    return join_styles(pieces) + "…"
