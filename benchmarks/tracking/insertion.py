"""Bytes sent after 1 MB was inserted at the start of a file, with and without line feeds; and the cost of splitting."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
        now, python, plain, before = _speeds(first, repeats)
        print(f"1 MB put in at the front, {kind}: {share:.2%} sent")
        print(
            f"  cut with digests at {now:.2f} GB/s, by Python {python:.2f}; {plain:.2f} if only line feeds count, and "
            f"{before:.2f} if the whole file gets a digest too, as when the gate was set"
        )
        figures += [
            _figure(f"share_sent_after_insertion_{kind}", share, 0.05, 0.025),
            _figure(f"cutting_times_when_the_gate_was_set_{kind}", now / before, 0.7, 1.0),
            _figure(f"cutting_times_line_feeds_only_{kind}", now / plain, None, None),
            _figure(f"cutting_by_python_times_when_the_gate_was_set_{kind}", python / before, None, None),
        ]
        first.unlink()
        after.unlink()
    return figures


def _without_line_feeds(data: bytes) -> bytes:
    return data.replace(b"\n", b"\x0b")


def _speeds(path: Path, repeats: int) -> tuple[float, float, float, float]:
    """Best of several rounds, in GB/s: current code, in Python, in Python if only line feeds count, and the last with
    a digest of the whole file, which every file had when the gate was set."""
    fastest, hashed = cutting.next_cut_here, cutting._cut_without_lines
    now, python, plain, before = [], [], [], []
    for _ in range(repeats):
        now.append(_seconds(path))
        cutting.next_cut_here = lambda: cutting.next_cut
        python.append(_seconds(path))
        cutting._cut_without_lines = lambda _data, _begin, stop: stop
        plain.append(_seconds(path))
        with _digest_of_the_whole():
            before.append(_seconds(path))
        cutting.next_cut_here, cutting._cut_without_lines = fastest, hashed
    size = path.stat().st_size
    return tuple(size / min(seconds) / 1e9 for seconds in (now, python, plain, before))


@contextmanager
def _digest_of_the_whole() -> Iterator[None]:
    """A thread of its own makes it beside the digests of the pieces."""
    hash_pieces, digest = cutting._hash_pieces, hashlib.sha256()
    with ThreadPoolExecutor(1) as pool:

        def hash_both(view: memoryview, ends: list[int], offset: int) -> list[cutting.Piece]:
            whole = pool.submit(digest.update, view)
            pieces = hash_pieces(view, ends, offset)
            whole.result()
            return pieces

        cutting._hash_pieces = hash_both
        try:
            yield
        finally:
            cutting._hash_pieces = hash_pieces


def _seconds(path: Path) -> float:
    descriptor = os.open(path, os.O_RDONLY)
    began = time.perf_counter()
    with cutting.Hashers() as hashers:
        for _ in cutting.Cutter(descriptor, hashers).pieces():
            pass
    taken = time.perf_counter() - began
    os.close(descriptor)
    return taken


def _figure(name: str, value: float, gate: float | None, goal: float | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}
