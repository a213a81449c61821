"""Metrics of runs as event files: read back with TensorBoard itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from danlu.journal.format import (
    Layout,
    encode_layout,
    encode_points,
    encode_run,
    file_header,
    new_journal_id,
    row_struct,
)
from danlu.node.event_files import Mirrors

reading = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")


def rows(*points: tuple[int, float, float, float]) -> bytes:
    pack = row_struct(2).pack
    return encode_points(0, [pack(step, at, math.nan, loss, other) for step, at, loss, other in points])


def scalars(folder: Path) -> dict[str, list[tuple[int, float, float]]]:
    found: dict[str, list[tuple[int, float, float]]] = {}
    for file in sorted(folder.rglob("events.out.tfevents.*")):
        for event in reading.RawEventFileLoader(str(file)).Load():
            for tag, value in _values(event):
                found.setdefault(tag, []).append((value[0], value[1], value[2]))
    return found


def _values(data: bytes) -> list[tuple[str, tuple[int, float, float]]]:
    from tensorboard.compat.proto.event_pb2 import Event  # type: ignore[import-untyped,unused-ignore]

    event: Any = Event.FromString(data)
    return [(one.tag, (event.step, event.wall_time, one.simple_value)) for one in event.summary.value]


def test_points_arrive_as_they_are_written(tmp_path: Path) -> None:
    journal = tmp_path / "runs" / "a" / "1.journal"
    journal.parent.mkdir(parents=True)
    head = file_header(new_journal_id()) + encode_run({"run": "r"}) + encode_layout(Layout(0, "train", ("loss", "acc")))
    first, second = rows((0, 1.5, 0.5, 1.0), (1, 2.5, 0.25, math.inf)), rows((2**40, 3.5, 1e300, math.nan))
    journal.write_bytes(head + first + second[:10])
    mirrors = Mirrors(str(tmp_path / "runs"), str(tmp_path / "events"))
    for _ in range(2):
        mirrors.follow()
        assert scalars(tmp_path / "events") == {
            "train/loss": [(0, 1.5, 0.5), (1, 2.5, 0.25)],
            "train/acc": [(0, 1.5, 1.0), (1, 2.5, math.inf)],
        }
    journal.write_bytes(head + first + second)
    mirrors.follow()
    found = scalars(tmp_path / "events" / "a" / "1")
    assert found["train/loss"][2] == (2**40, 3.5, math.inf)
    assert math.isnan(found["train/acc"][2][2])


def test_a_damaged_journal_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bad.journal").write_bytes(b"nothing of ours" * 100)
    Mirrors(str(tmp_path), str(tmp_path / "events")).follow()
    assert not (tmp_path / "events").exists()
