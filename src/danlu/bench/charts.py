"""Small charts as SVG, for a page without scripts or other files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 70, 10, 12, 34
GRID = 4


class Bar(NamedTuple):
    label: str
    value: float
    is_marked: bool = False


def bar_chart(bars: Sequence[Bar], *, title: str, unit: str) -> str:
    top = _nice(max((bar.value for bar in bars), default=1.0))
    step = (WIDTH - LEFT - RIGHT) / max(1, len(bars))
    parts = []
    for place, bar in enumerate(bars):
        height = _height(bar.value, top)
        x = LEFT + place * step + step * 0.1
        kind = "bar marked" if bar.is_marked else "bar"
        told = escape(f"{bar.label}: {bar.value:.6g} {unit}")
        parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{HEIGHT - BOTTOM - height:.1f}" width="{step * 0.8:.1f}" '
            f'height="{height:.1f}"><title>{told}</title></rect>'
        )
        if len(bars) <= 32:
            parts.append(_text(x + step * 0.4, HEIGHT - BOTTOM + 16, bar.label, "middle"))
    return _svg(title, [*_scale(top, unit), *parts])


def line_chart(
    points: Sequence[Sequence[float]], *, title: str, unit: str, is_log: bool = False, ideal: Sequence[float] = ()
) -> str:
    """A chart of points (x, y). `is_log`: logarithmic X axis. `ideal`: the best possible y values, as a dashed line."""
    xs = [math.log2(max(point[0], 1e-12)) if is_log else point[0] for point in points]
    top = _nice(max((*(point[1] for point in points), *ideal), default=1.0))
    low, high = min(xs, default=0.0), max(xs, default=1.0)
    wide = (WIDTH - LEFT - RIGHT - 40) / ((high - low) or 1.0)

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + 20 + (x - low) * wide, HEIGHT - BOTTOM - _height(y, top)

    places = [place(x, point[1]) for x, point in zip(xs, points)]
    parts = [_line("ideal", [place(x, y) for x, y in zip(xs, ideal)])] if ideal else []
    parts.append(_line("line", places))
    for (x, y), point in zip(places, points):
        told = escape(f"{point[0]:g}: {point[1]:.6g} {unit}")
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{told}</title></circle>')
        parts.append(_text(x, HEIGHT - BOTTOM + 16, f"{point[0]:.4g}", "middle"))
    return _svg(title, [*_scale(top, unit), *parts])


def _line(kind: str, places: Sequence[tuple[float, float]]) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline class="{kind}" points="{path}"/>'


def _scale(top: float, unit: str) -> list[str]:
    parts = []
    for line in range(GRID + 1):
        y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * line / GRID
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{top * line / GRID:.4g}", "end"))
    parts.append(_text(4, TOP, unit, "start"))
    return parts


def _svg(title: str, parts: Sequence[str]) -> str:
    name = escape(title)
    inner = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}"><title>{name}</title>{inner}</svg>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _height(value: float, top: float) -> float:
    usable = max(0.0, value) if math.isfinite(value) else 0.0
    return (HEIGHT - TOP - BOTTOM) * min(1.0, usable / top)


def _nice(value: float) -> float:
    """The next larger of 1, 2 and 5 times a power of ten."""
    if not math.isfinite(value) or value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in (1, 2, 5, 10) if step * power >= value), 10 * power)
