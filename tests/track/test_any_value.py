"""What scripts pass by mistake: a call keeps what it can, warns about the rest, and never raises."""

from __future__ import annotations

import io
import json
import math
import sys
import wave
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.written_runs import logged, own_journal
from tests.track.rude import Nameless, Rude, plain_errors

from danlu import journal, track
from danlu.content.drafts import read_draft
from danlu.journal import Kind
from danlu.track.media import count
from danlu.track.reading import read_run
from danlu.track.run import Run
from danlu.track.uploading import order

MAX_STEP = (1 << 63) - 1


class RudeEnd:
    """Can be marked as an output, and cannot be finished."""

    def link(self, run: object, kind: str) -> None:
        """Do nothing."""

    def finish(self) -> None:
        raise Rude


def end_of(run: Run) -> tuple[str, str]:
    frames = journal.scan(own_journal(run.path).data).frames
    (said,) = [journal.decode_json(frame) for frame in frames if frame.kind == Kind.FINISH]
    return said["state"], said["reason"]


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
    "rude log": lambda run: run.log(Rude(), Rude(), Rude(), Rude()),
    "rude values": lambda run: run.log({"loss": Rude(), Rude(): 1}, flush=Rude()),
    "rude rewind": lambda run: run.rewind(Rude()),
    "rude total_steps": lambda run: run.total_steps(Rude()),
    "rude labels": lambda run: setattr(run, "labels", Rude()),
    "rude hparams": lambda run: run.hparams.update(Rude()),
    "rude text": lambda run: run.log_text(Rude(), Rude(), Rude(), type=Rude()),
    "rude image": lambda run: run.log_image(Rude(), Rude()),
    "rude mark_input": lambda run: run.mark_input(Rude()),
    "rude output": lambda run: run.mark_output(RudeEnd()),
    "rude upload": lambda run: run.upload(folder=Rude()),
    "rude finish": lambda run: run.finish(Rude(), Rude()),
    "rude alert": lambda run: run.alert(Rude(), Rude(), Rude(), wait_seconds=Rude()),
    "alert level array": lambda run: run.alert("title", level=np.array(["info", "error"])),
    "rude axis": lambda run: run.define_axis(Rude(), Rude()),
    "rude description": lambda run: setattr(run, "description", Rude()),
    "rude histogram": lambda run: run.log_histogram(Rude(), Rude(), Rude(), bins=Rude(), type=Rude()),
    "rude images": lambda run: run.log_images(Rude(), Rude(), captions=Rude()),
    "rude table": lambda run: run.log_table(Rude(), Rude(), Rude()),
    "rude curve": lambda run: run.log_roc_curve(Rude(), Rude(), Rude(), labels=Rude()),
    "rude key": lambda run: run.hparams.__setitem__(Rude(), Rude()),
    "rude keys": lambda run: run.hparams.update({Rude(): 1}, self=1),
    "rude new keys": lambda run: setattr(run, "summary", {Rude(): 1}),
    "rude repr": lambda run: (run.summary.__setitem__("x", Rude()), repr(run.summary)),
    "a list as key": lambda run: run.hparams.__setitem__([1], 1),
    "upload conflict array": lambda run: run.upload(conflict=np.array(["new", "skip"])),
    "rude conflict": lambda run: run.upload(conflict=Rude()),
    "finish with an array": lambda run: run.finish(np.array(["failed", "finished"])),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_call_raises(call: str) -> None:
    run = track.start("mnist")
    with plain_errors():
        CALLS[call](run)
    run.log({"after": 1})
    run.finish()
    assert read_run(run.path).state in ("finished", "failed")


@pytest.mark.parametrize("given", [{"labels": 5}, {"folder": 5}, {"group": 5}, {"description": None}, {"parent": 5}])
def test_a_run_starts_whatever_is_said_about_it(given: dict[str, Any]) -> None:
    run = track.start("mnist", **given)
    run.finish()
    assert read_run(run.path).state == "finished"


@pytest.mark.parametrize(
    "field", ["folder", "labels", "description", "group", "parent", "all_ranks", "project", "dir", "hparams"]
)
def test_a_run_starts_whatever_one_of_its_fields_raises(field: str) -> None:
    with plain_errors():
        given: dict[str, Any] = {field: Rude()}
        run = track.start("mnist", **given)
        run.finish()
    assert end_of(run) == ("finished", "")


def test_a_hyperparameter_whose_name_raises_does_not_take_the_run_along() -> None:
    with plain_errors():
        run = track.start("mnist", {"lr": 0.1, Rude(): 1})
        run.hparams[[1]] = run.hparams["lr"]  # type: ignore[index]
        run.finish()
    assert read_run(run.path).hparams == {"lr": 0.1, "<Rude: TypeError>": 1, "[1]": 0.1}
    assert run.hparams[[1]] == 0.1  # type: ignore[index]


def test_a_rank_that_is_no_number_does_not_end_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "²")
    assert isinstance(track.start("mnist"), Run)
    assert isinstance(track.artifact("model"), track.Artifact)


ARTIFACT_CALLS: dict[str, Callable[[Any], Any]] = {
    "add_file": lambda made: made.add_file(Rude(), Rude()),
    "add_file number": lambda made: made.add_file(5),
    "add_file path": lambda made: made.add_file(__file__, Rude()),
    "add_dir": lambda made: made.add_dir(Rude(), Rude(), ignore=Rude()),
    "add_dir ignore": lambda made: made.add_dir(".", ignore=Rude()),
    "add_reference": lambda made: made.add_reference(Rude(), Rude(), size=Rude(), checksum=Rude()),
    "add_reference array": lambda made: made.add_reference(np.array(["a", "b"])),
    "labels": lambda made: setattr(made, "labels", Rude()),
    "labels number": lambda made: setattr(made, "labels", 5),
    "labels with a rude one": lambda made: setattr(made, "labels", [Rude()]),
    "aliases": lambda made: setattr(made, "aliases", Rude()),
    "aliases with a rude one": lambda made: setattr(made, "aliases", [Rude()]),
    "description": lambda made: setattr(made, "description", Rude()),
    "upload": lambda made: made.upload(Rude()),
    "upload for ever": lambda made: made.upload(math.inf),
}


@pytest.mark.parametrize("call", ARTIFACT_CALLS)
def test_no_call_of_an_artifact_raises(call: str) -> None:
    made = track.artifact("model")
    with plain_errors():
        ARTIFACT_CALLS[call](made)
        made.labels = ["after"]
        made.finish()
    draft = read_draft(made.path)
    assert draft is not None
    assert draft.is_sealed == (not call.startswith("add_"))  # what could not be added would be missing
    assert draft.about["labels"] == ([] if call.startswith("upload") else ["after"])


@pytest.mark.parametrize("field", ["labels", "description", "aliases", "project", "dir"])
def test_an_artifact_begins_whatever_one_of_its_fields_raises(field: str) -> None:
    with plain_errors():
        given: dict[str, Any] = {field: Rude()}
        made = track.artifact("model", **given)
        made.finish()
        silent = track.artifact(Rude())  # type: ignore[arg-type]
    draft = read_draft(made.path)
    assert draft is not None
    assert draft.is_sealed
    assert not silent.upload()


def test_a_size_of_any_type_of_numbers_is_kept() -> None:
    made = track.artifact("model").add_reference("s3://bucket/x", size=np.int64(3))  # type: ignore[arg-type]
    made.finish()
    draft = read_draft(made.path)
    assert draft is not None
    assert (draft.is_sealed, draft.references["x"].size) == (True, 3)


def test_an_unknown_conflict_is_named(caplog: pytest.LogCaptureFixture) -> None:
    run = track.start("mnist")
    assert not run.upload(conflict=np.array(["new", "skip"]))  # type: ignore[arg-type]
    run.finish()
    assert "is not known; known: new, skip, error, replace" in caplog.text


@pytest.mark.parametrize("given", [Rude, lambda: math.nan, lambda: math.inf, lambda: 1e300, lambda: "x"])
def test_a_process_that_syncs_is_waited_for_whatever_the_timeout(given: Callable[[], Any]) -> None:
    with plain_errors():
        answer = order({"do": "find", "ref": "model", "project": None}, given())
    assert "could not be used" not in answer["message"]


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


ERRORS: dict[str, tuple[BaseException, tuple[str, str]]] = {
    "error": (Rude(), ("failed", "Rude: <Rude: TypeError>")),
    "exit": (SystemExit(Rude()), ("failed", "sys.exit(<Rude: Rude>)")),
    "exit with an array": (SystemExit(np.array([0, 0])), ("failed", "sys.exit(array([0, 0]))")),
    "exit with False": (SystemExit(False), ("finished", "")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_exception_without_text_ends_a_run_and_is_not_replaced(name: str) -> None:
    error, end = ERRORS[name]
    run, other = track.start("mnist"), track.start("mnist")
    try:
        with run:
            raise error
    except BaseException as raised:
        is_same = raised is error
    assert is_same
    assert end_of(run) == end
    with plain_errors():
        other.finish("failed", error)
    assert end_of(other) == ("failed", end[1])
    assert other._writer is None


def test_a_value_that_raises_does_not_take_the_others_along() -> None:
    with plain_errors():
        run = track.start("mnist", {"lr": 0.1, "bad": Rude(), "list": [1, Rude()], "inner": {"a": 1, "b": Rude()}})
        run.log({"loss": 0.5, "bad": Rude()}, step=1)
    run.finish()
    told = "<Rude: TypeError>"
    expected = {"lr": 0.1, "bad": told, "list": [1, told], "inner": {"a": 1, "b": told}}
    assert read_run(run.path).hparams == expected
    assert [(point.name, point.value) for point in logged(run)] == [("loss", 0.5)]


@pytest.mark.parametrize("kind", [object, Rude])
def test_a_console_that_is_none_keeps_no_run_from_starting(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    monkeypatch.setattr(sys, "stdout", kind())
    with plain_errors():
        run = track.start("mnist")
        run.finish()
    monkeypatch.undo()
    assert end_of(run) == ("finished", "")


def test_a_part_that_raises_does_not_take_a_medium_along() -> None:
    run = track.start("mnist")
    with plain_errors():
        run.log_images("images", [np.zeros((2, 2))] * 2, captions=["a", Rude()])
        run.log_images("no captions", [np.zeros((2, 2))], captions=Rude())  # type: ignore[arg-type]
        run.log_table("table", ["a", Rude()], [[1, Rude()]])  # type: ignore[list-item]
        run.log_confusion_matrix("matrix", [0, 1], [0, 1], labels=["a", Rude()])
    run.finish()
    found = {one.about["name"]: json.loads(one.data) for one in media_of(run)}
    told = "<Rude: TypeError>"
    assert [one["caption"] for one in found["images"]["images"]] == ["a", told]
    assert [one["caption"] for one in found["no captions"]["images"]] == [""]
    assert (found["table"]["columns"], found["table"]["rows"]) == (["a", told], [[1, told]])
    assert found["matrix"]["labels"] == ["a", told]


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
