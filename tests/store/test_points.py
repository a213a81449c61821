"""Thinning lines, and packs of columns: nothing is lost that was to stay."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.journals import BEGAN, JournalMaker

from danlu.journal import encode_media
from danlu.store.metrics.decode import LAST_SECOND, BranchKey, SeriesKey, decode
from danlu.store.metrics.packs import Packs, encode_pack
from danlu.store.metrics.points import Axis, Points, downsample, thin
from danlu.store.objects.local import LocalObjects

numbers = st.floats(width=32) | st.just(math.nan)


@st.composite
def lines(draw: st.DrawFn) -> Points:
    values = draw(st.lists(numbers, max_size=300))
    steps = draw(st.lists(st.integers(-(2**40), 2**40), min_size=len(values), max_size=len(values)))
    is_sorted = draw(st.booleans())
    times = [float(number) for number in range(len(values))]
    return Points(
        np.array(sorted(steps) if is_sorted else steps, np.int64),
        np.array(times),
        np.array([math.nan if number % 3 else number / 10 for number in range(len(values))]),
        np.array(values, np.float64),
    )


def extremes(points: Points) -> tuple[float, float] | None:
    known = points.values[~np.isnan(points.values)]
    return (float(known.min()), float(known.max())) if len(known) else None


def as_set(points: Points) -> set[tuple[int, float, str]]:
    return {(int(step), float(time), repr(float(value))) for step, time, value in
            zip(points.steps, points.times, points.values, strict=True)}  # fmt: skip


@settings(max_examples=150)
@given(lines(), st.integers(2, 60), st.sampled_from(list(Axis)))
def test_a_thinned_line_keeps_its_extremes_and_invents_nothing(points: Points, most: int, axis: Axis) -> None:
    on_axis = points.take(~np.isnan(points.along(axis)))
    found = downsample(points, most, axis)
    assert len(found) <= most or len(on_axis) <= most
    assert as_set(found) <= as_set(points)
    along = found.along(axis)
    assert bool(np.all(along[1:] >= along[:-1]))
    if most >= 4:
        assert extremes(found) == extremes(on_axis)
    if len(on_axis):
        assert float(along[0]) == float(np.min(on_axis.along(axis)))
        assert float(along[-1]) == float(np.max(on_axis.along(axis)))


@settings(max_examples=100)
@given(lines(), st.integers(2, 64))
def test_thin_columns_have_every_extreme_of_every_block(points: Points, block: int) -> None:
    found = thin(points, block)
    assert as_set(found) <= as_set(points)
    if len(points) > 4:
        for first in range(0, len(points), block):
            part = points.take(np.arange(first, min(first + block, len(points))))
            kept = found.take(np.isin(found.times, part.times))
            assert extremes(kept) == extremes(part)
            assert len(kept) <= 4


@given(st.lists(lines().filter(len), min_size=1, max_size=4))
@settings(max_examples=30)
def test_a_pack_gives_back_what_was_put_in(tmp_path_factory: object, many: list[Points]) -> None:
    folder = Path(str(tmp_path_factory.mktemp("packs")))  # type: ignore[attr-defined]
    packs = Packs(LocalObjects(folder))
    made = {BranchKey(1, SeriesKey("train", f"m{number}")): points for number, points in enumerate(many)}
    data, placed = encode_pack(made)
    packs.put("run-a", "j", 24, data)
    for key, points in made.items():
        back = packs.read("run-a", "j", 24, placed[key], is_thin=False)
        assert back.steps.tobytes() == points.steps.tobytes()
        assert back.values.tobytes() == points.values.tobytes()
        assert back.epochs.tobytes() == points.epochs.tobytes()
        small = packs.read("run-a", "j", 24, placed[key], is_thin=True)
        assert as_set(small) == as_set(thin(points))


def test_a_series_in_several_layouts_keeps_its_order() -> None:
    made = JournalMaker()
    made.log("train", {"loss": [1.0]}, [1]).log("train", {"loss": [2.0], "acc": [0.5]}, [2]).log(
        "train", {"loss": [3.0]}, [3]
    )
    found = decode(made.data, 0, {}, 1)
    assert found.points[BranchKey(1, SeriesKey("train", "loss"))].values.tolist() == [1.0, 2.0, 3.0]
    assert found.points[BranchKey(1, SeriesKey("train", "acc"))].values.tolist() == [0.5]


def test_a_journal_decoded_in_pieces_is_the_journal() -> None:
    made = JournalMaker(branch=3)
    for step in range(20):
        made.log("train", {"loss": [float(step)]}, [step])
    whole = decode(made.data, 0, {}, 1)
    assert list(whole.points) == [BranchKey(3, SeriesKey("train", "loss"))]
    steps: list[int] = []
    at, layouts, branch = 0, whole.layouts, 1
    while at < len(made.data):
        part = decode(made.data[at : at + 150], at, layouts, branch)
        steps += [int(step) for points in part.points.values() for step in points.steps]
        at, layouts, branch = part.end, part.layouts, part.branch
    assert steps == list(range(20))


@pytest.mark.parametrize(
    ("told", "kept"),
    [(1e300, LAST_SECOND), (-1e300, 0.0), ("nan", 0.0), (None, 0.0), (BEGAN, BEGAN), (LAST_SECOND + 1, LAST_SECOND)],
)
def test_times_are_such_as_a_date_can_have(told: object, kept: float) -> None:
    about = {"kind": "alert", "name": "loss", "time": told}
    made = JournalMaker().add(encode_media(about, b"text")).add(encode_media({**about, "kind": "text"}, b"text"))
    found = decode(made.data, 0, {}, 1)
    assert found.num_damaged == 0
    assert [found.alerts[0].at, found.media[0].at] == [kept, kept]
    assert datetime.fromtimestamp(kept, timezone.utc).year in range(1970, 10_000)
