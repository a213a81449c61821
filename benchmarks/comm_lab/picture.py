"""Draw the parts of a training step's time as an SVG."""

from __future__ import annotations

from typing import Any

ROWS = {"native": "plain DDP", "exact": "2d, exact", "bf16": "2d, bf16 between hosts"}
LEFT, WIDTH, BAR, GAP = 190, 520, 34, 20
COMPUTE, WAIT, TEXT = "#3b6ea5", "#e0a458", "#333333"


def draw(measured: dict[str, Any]) -> str:
    """Return the picture of one `steps` measurement: computing time, and waiting time on top."""
    seconds = measured["seconds"]
    compute = seconds["compute"]
    longest = max(seconds[name] for name in ROWS)
    height = 70 + len(ROWS) * (BAR + GAP) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 110} {height}" '
        'font-family="sans-serif" font-size="14">',
        f"<title>One training step on two hosts of four ranks, {1000 * compute:.0f} ms of it computing</title>",
        *_legend(),
    ]
    for index, (name, label) in enumerate(ROWS.items()):
        top = 60 + index * (BAR + GAP)
        whole, own = WIDTH * seconds[name] / longest, WIDTH * compute / longest
        text = f"{1000 * seconds[name]:.0f} ms"
        gain = "" if name == "native" else f" (×{seconds['native'] / seconds[name]:.2f})"
        parts += [
            f'<text x="{LEFT - 10}" y="{top + 22}" text-anchor="end" fill="{TEXT}">{label}</text>',
            f'<rect x="{LEFT}" y="{top}" width="{own:.1f}" height="{BAR}" fill="{COMPUTE}"/>',
            f'<rect x="{LEFT + own:.1f}" y="{top}" width="{max(0.0, whole - own):.1f}" height="{BAR}" fill="{WAIT}"/>',
            f'<text x="{LEFT + whole + 8:.1f}" y="{top + 22}" fill="{TEXT}">{text}{gain}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    return [
        f'<rect x="{LEFT}" y="18" width="14" height="14" fill="{COMPUTE}"/>',
        f'<text x="{LEFT + 20}" y="30" fill="{TEXT}">computing</text>',
        f'<rect x="{LEFT + 120}" y="18" width="14" height="14" fill="{WAIT}"/>',
        f'<text x="{LEFT + 140}" y="30" fill="{TEXT}">exchanging gradients, not hidden behind computing</text>',
    ]
