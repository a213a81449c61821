"""What scripts pass by mistake: a call keeps what it can, warns about the rest, and never raises."""

from __future__ import annotations

import io
import math
import wave
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.written_runs import logged, own_journal

from danlu import journal, track
from danlu.journal import Kind
from danlu.track.media import count
from danlu.track.reading import read_run
from danlu.track.run import Run

MAX_STEP = (1 << 63) - 1


class Nameless:
    """Has neither a text nor a `repr`."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def media_of(run: Run) -> list[journal.Media]:
    frames = journal.scan(own_journal(run.path).data).frames
    return [journal.decode_media(frame) for frame in frames if frame.kind == Kind.MEDIA]


CALLS: dict[str, Callable[[Any], Any]] = {
    "log_text name": lambda run: run.log_text(Nameless(), "x"),
    "log_text type": lambda run: run.log_text("x", "x", type=Nameless()),
    "log_histogram": lambda run: run.log_histogram(Nameless(), [1], bins="x"),
    "log type": lambda run: run.log(Nameless(), {"a": 1}),
    "log metrics": lambda run: run.log("train", Nameless()),
    "log name": lambda run: run.log({Nameless(): 1}),
    "labels": lambda run: setattr(run, "labels", 5),
    "labels large": lambda run: setattr(run, "labels", ["x" * (2 << 20)]),
    "labels none": lambda run: setattr(run, "labels", None),
    "description": lambda run: setattr(run, "description", Nameless()),
    "total_steps": lambda run: run.total_steps(10**400),
    "rewind": lambda run: run.rewind(10**400),
    "hparams": lambda run: run.hparams.update(Nameless()),
    "alert": lambda run: run.alert(Nameless(), Nameless(), Nameless()),
    "alert wait": lambda run: run.alert("title", wait_seconds="x"),
    "define_axis": lambda run: run.define_axis(Nameless(), "x"),
    "mark_output": lambda run: run.mark_output(Nameless()),
    "finish": lambda run: run.finish(Nameless(), Nameless()),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_call_raises(call: str) -> None:
    run = track.start("mnist")
    CALLS[call](run)
    run.log({"after": 1})
    run.finish()
    assert read_run(run.path).state in ("finished", "failed")


@pytest.mark.parametrize("given", [{"labels": 5}, {"folder": 5}, {"group": 5}, {"description": None}, {"parent": 5}])
def test_a_run_starts_whatever_is_said_about_it(given: dict[str, Any]) -> None:
    run = track.start("mnist", **given)
    run.finish()
    assert read_run(run.path).state == "finished"


def test_names_that_no_server_can_store_are_replaced() -> None:
    run = track.start("data-\udcff\0.csv", labels=["\ud800"], folder="\ud800", group="\ud800", description="\ud800")
    run.finish()
    header = read_run(run.path).header
    assert [header[name] for name in ("name", "labels", "folder", "group", "description")] == [
        "data-?.csv",
        ["?"],
        "?",
        "?",
        "?",
    ]
    assert isinstance(track.start(Nameless()), Run)  # type: ignore[arg-type]


def test_a_bad_value_does_not_take_the_others_along() -> None:
    run = track.start("mnist")
    run.log({"loss": 0.5, "bad": Nameless(), "text": "x"}, step=1)
    run.finish()
    assert [(point.name, point.value) for point in logged(run)] == [("loss", 0.5)]


@pytest.mark.parametrize(
    ("step", "following"),
    [(np.int64(3), 4), (np.int8(127), 128), (np.uint8(255), 256), (np.array(7), 8), (True, 2), (MAX_STEP, MAX_STEP)],
)
def test_steps_of_any_type_go_on(step: Any, following: int) -> None:
    run = track.start("mnist")
    run.log({"loss": 1}, step=step)
    run.log_text("sample", "x")
    run.log({"loss": 2})
    run.finish()
    assert [point.step for point in logged(run)] == [int(step), following]
    assert [one.about["step"] for one in media_of(run)] == [int(step)]


@pytest.mark.parametrize(
    ("reason", "told"),
    [(ValueError("no data"), "ValueError: no data"), (None, ""), (7, "7"), (SystemExit(3), "sys.exit(3)")],
)
def test_any_reason_ends_a_run(reason: Any, told: str) -> None:
    run = track.start("mnist")
    run.finish("failed", reason)
    ends = [frame for frame in journal.scan(own_journal(run.path).data).frames if frame.kind == Kind.FINISH]
    assert [(one["state"], one["reason"]) for one in map(journal.decode_json, ends)] == [("failed", told)]


def test_infinity_is_clipped_in_images_and_sounds() -> None:
    run = track.start("mnist")
    run.log_image("image", np.array([[np.inf, -np.inf], [np.nan, 0.5]]))
    run.log_audio("sound", np.array([np.inf, -np.inf, np.nan]), sample_rate=8000)
    run.finish()
    assert [one.about["name"] for one in media_of(run)] == ["image", "sound"]


@pytest.mark.parametrize(
    ("samples", "shape", "first"),
    [
        (np.full(1000, 1 << 14, np.int16), (1, 1000), 16_384),
        (np.full(1000, -(1 << 30), np.int32), (1, 1000), -16_384),
        (np.full((1000, 2), 0.5), (2, 1000), 16_384),
        (np.full((2, 1000), 0.5), (2, 1000), 16_384),
    ],
)
def test_sounds_are_taken_as_files_are_read(samples: Any, shape: tuple[int, int], first: int) -> None:
    run = track.start("mnist")
    run.log_audio("sound", samples, sample_rate=8000)
    run.finish()
    with wave.open(io.BytesIO(media_of(run)[0].data)) as file:
        assert (file.getnchannels(), file.getnframes()) == shape
        assert abs(int.from_bytes(file.readframes(1)[:2], "little", signed=True) - first) <= 1


@pytest.mark.parametrize("kind", [list, np.array])
@pytest.mark.parametrize("values", [[1e308, -1e308], [5e-324, 0.0], [1e300, 1e300], [-1.7e308, 1.7e308, 0.0]])
def test_histograms_of_any_range(values: list[float], kind: Any) -> None:
    found = count(kind(values), 8)
    assert sum(found.counts) == len(values)
    assert all(math.isfinite(edge) for edge in found.edges)
    assert found.edges == sorted(set(found.edges))


@pytest.mark.parametrize("truth", [[-1, 1, 1], [0, 1, 1], [False, True, True], np.array([0.0, 1.0, 1.0])])
def test_truth_of_a_curve_is_of_two_classes(truth: Any) -> None:
    run = track.start("mnist")
    run.log_roc_curve("roc", truth, [0.1, 0.8, 0.9])
    run.finish()
    assert b'"area": 1.0' in media_of(run)[0].data


@pytest.mark.parametrize("truth", [["no", "yes", "yes"], [1, 2, 2], [-1, 0, 1]])
def test_any_other_truth_is_one_warning(truth: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = track.start("mnist")
    run.log_pr_curve("pr", truth, [0.1, 0.8, 0.9])
    run.finish()
    assert media_of(run) == []
    assert "expected 0 and 1, or -1 and 1, as true labels" in caplog.text
