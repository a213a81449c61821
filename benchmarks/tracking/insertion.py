"""What is sent after 1 MB was put in at the front of a file, with and without line feeds; and what cutting costs."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from danlu.content import cutting
from danlu.testing.serving import RunningServer

sys.path.insert(0, str(Path(__file__).parents[1] / "artifacts"))
from sides import send

INSERTED_BYTES = 1_000_000
SIZE = 100 << 20


def measure_insertion(server: RunningServer, folder: Path, *, repeats: int) -> list[dict[str, Any]]:
    data = b"".join(random.Random(number).randbytes(1 << 20) for number in range(SIZE >> 20))
    more = random.Random("more").randbytes(INSERTED_BYTES)
    figures = []
    for kind, change in (("line_feeds", bytes), ("no_line_feeds", _without_line_feeds)):
        first, after = folder / f"{kind}-first.bin", folder / f"{kind}-after.bin"
        first.write_bytes(change(data))
        after.write_bytes(change(more) + change(data))
        send(server, "upload", f"insertion-{kind}", first)
        sent = send(server, "upload", f"insertion-{kind}", after)
        share = sent["sent_bytes"] / sent["size"]
        now, before = _speeds(first, repeats)
        print(f"1 MB put in at the front, {kind}: {share:.2%} sent")
        print(f"  cut with digests at {now:.2f} GB/s, {before:.2f} when only line feeds count")
        figures += [
            _figure(f"share_sent_after_insertion_{kind}", share, 0.05, 0.025),
            _figure(f"cutting_times_line_feeds_only_{kind}", now / before, 0.7, 1.0),
        ]
        first.unlink()
        after.unlink()
    return figures


def _without_line_feeds(data: bytes) -> bytes:
    return data.replace(b"\n", b"\x0b")


def _speeds(path: Path, repeats: int) -> tuple[float, float]:
    """The best of several, in GB/s: as it is, and as if only line feeds counted. They take turns."""
    now, before, hashed = [], [], cutting._cut_without_lines
    for _ in range(repeats):
        now.append(_seconds(path))
        cutting._cut_without_lines = lambda _data, _begin, stop: stop
        before.append(_seconds(path))
        cutting._cut_without_lines = hashed
    size = path.stat().st_size
    return size / min(now) / 1e9, size / min(before) / 1e9


def _seconds(path: Path) -> float:
    descriptor = os.open(path, os.O_RDONLY)
    began = time.perf_counter()
    with cutting.Hashers() as hashers:
        for _ in cutting.Cutter(descriptor, hashers).pieces():
            pass
    taken = time.perf_counter() - began
    os.close(descriptor)
    return taken


def _figure(name: str, value: float, gate: float, goal: float) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}
