"""A run in the training process: what it keeps, and that nothing of it can hurt."""

from __future__ import annotations

import math
import os
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.written_runs import logged

from danlu import journal, track
from danlu.journal import Kind
from danlu.track.ranks import rank_of
from danlu.track.reading import open_journals, read_run


def simple(run: track.Run) -> list[tuple[str, str, int, float]]:
    return [(point.type, point.name, point.step, point.value) for point in logged(run)]


class TestLog:
    def test_both_forms(self) -> None:
        run = track.start("mnist")
        run.log("train", {"loss": 0.5, "accuracy": 0.1}, 1, 3)
        run.log({"loss": 0.25}, step=2)
        run.log({"loss": 0.125}, 3)
        run.log({"loss": 0.0})
        assert simple(run) == [
            ("train", "loss", 1, 0.5),
            ("train", "accuracy", 1, 0.1),
            ("train", "loss", 2, 0.25),
            ("train", "loss", 3, 0.125),
            ("train", "loss", 4, 0.0),
        ]
        assert [point.epoch for point in logged(run)][:3] == [3.0, 3.0, None]
        run.finish()

    @pytest.mark.parametrize(
        ("word", "type"),
        [
            ("training", "train"),
            ("Validation", "val"),
            ("validate", "val"),
            ("eval", "test"),
            ("testing", "test"),
            ("rl", "rl"),
        ],
    )
    def test_synonyms_are_one_type(self, word: str, type: str) -> None:
        run = track.start("mnist")
        run.log(word, {"loss": 1}, step=1)
        assert [point.type for point in logged(run)] == [type]
        run.finish()

    def test_nan_and_infinity_are_kept(self) -> None:
        run = track.start("mnist")
        run.log({"a": math.nan, "b": math.inf, "c": -math.inf}, step=0)
        values = [point.value for point in logged(run)]
        assert math.isnan(values[0])
        assert values[1:] == [math.inf, -math.inf]
        run.finish()

    def test_a_value_that_is_no_number_is_left_out_with_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        run = track.start("mnist")
        for step in range(3):
            run.log({"loss": 1.0, "note": "good", "none": None}, step=step)
        assert simple(run) == [("train", "loss", step, 1.0) for step in range(3)]
        told = [record.getMessage() for record in caplog.records]
        assert told == [
            "danlu.track: log(): 'note' is 'good', which is no number; it is left out",
            "danlu.track: log(): 'none' is None, which is no number; it is left out",
        ]
        run.finish()

    def test_tensors_and_arrays_of_one_element(self) -> None:
        import numpy
        import torch

        run = track.start("mnist")
        weight = torch.tensor(0.5, requires_grad=True)
        run.log(
            {
                "tensor": weight * 1,
                "one": torch.ones(1, dtype=torch.bfloat16),
                "numpy": numpy.float32(2.0),
                "array": numpy.array([3.0]),
                "bool": True,
            },
            step=numpy.int64(7),  # type: ignore[arg-type]
        )
        assert [(point.value, point.step) for point in logged(run)] == [
            (0.5, 7),
            (1.0, 7),
            (2.0, 7),
            (3.0, 7),
            (1.0, 7),
        ]
        run.finish()

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        type=st.one_of(st.text(), st.none(), st.integers(), st.dictionaries(st.text(), st.floats())),
        metrics=st.one_of(
            st.none(),
            st.text(),
            st.integers(),
            st.dictionaries(st.one_of(st.text(), st.integers()), st.from_type(object)),
        ),
        step=st.one_of(st.none(), st.integers(), st.floats(), st.text()),
        epoch=st.one_of(st.none(), st.floats(), st.text(), st.complex_numbers()),
    )
    def test_nothing_raises(self, type: Any, metrics: Any, step: Any, epoch: Any) -> None:
        run = _shared_run()
        run.log(type, metrics, step, epoch)
        run.flush()

    def test_a_value_whose_methods_raise(self) -> None:
        class Bad:
            def __float__(self) -> float:
                raise RuntimeError("CUDA error: device-side assert triggered")

            def __repr__(self) -> str:
                raise RuntimeError("no")

        run = track.start("mnist")
        run.log({"bad": Bad()}, step=1)
        run.log({"good": 1}, step=2)
        assert simple(run) == [("train", "good", 2, 1.0)]
        run.finish()

    def test_after_finish_is_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        run = track.start("mnist")
        run.finish()
        run.finish()
        run.log({"loss": 1}, step=1)
        run.log({"loss": 1}, step=2)
        assert [record.getMessage() for record in caplog.records] == [
            "danlu.track: mnist: log() after finish() is not kept"
        ]

    def test_too_many_values_at_once_is_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        run = track.start("mnist")
        run.log({f"m{number}": 1 for number in range(5000)}, step=1)
        run.log({"loss": 1}, step=2)
        assert simple(run) == [("train", "loss", 2, 1.0)]
        assert "4000 are the most" in caplog.text
        run.finish()

    def test_threads_lose_nothing(self) -> None:
        import threading

        run = track.start("mnist")

        def work(name: str) -> None:
            for step in range(2000):
                run.log({name: step}, step=step)

        threads = [threading.Thread(target=work, args=(f"m{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = logged(run)
        for number in range(4):
            assert [point.step for point in found if point.name == f"m{number}"] == list(range(2000))
        run.finish()

    def test_a_clock_that_goes_back_changes_no_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        times = iter([100.0, 50.0, 200.0, 10.0])
        run = track.start("mnist")
        for step in range(4):
            run.log_past("train", {"loss": step}, step, time=next(times))
        assert [(point.step, point.time) for point in logged(run)] == [(0, 100.0), (1, 50.0), (2, 200.0), (3, 10.0)]
        run.finish()


_kept: list[track.Run] = []


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    yield
    for run in _kept:
        run.finish()


def _shared_run() -> track.Run:
    if not _kept or not os.path.isdir(_kept[0].path):
        _kept[:] = [track.start("strange")]
    return _kept[0]


class TestRanks:
    @pytest.mark.parametrize("name", ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"])
    def test_others_than_0_are_silent(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(name, "1")
        run = track.start("mnist", {"lr": 1})
        run.log("train", {"loss": 1}, step=1)
        run.hparams["lr"] = 2
        run.summary["best"] = 1
        run.log_text("note", "x")
        run.finish()
        assert isinstance(run, track.SilentRun)
        assert run.upload() is True
        assert not os.path.exists(".danlu")

    def test_slurm_counts_only_below_srun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SLURM_PROCID", "3")
        with track.start("batch-script") as run:
            assert not isinstance(run, track.SilentRun)
        monkeypatch.setenv("SLURM_STEP_ID", "0")
        assert isinstance(track.start("task"), track.SilentRun)

    @pytest.mark.parametrize(
        ("environ", "rank"),
        [
            ({}, 0),
            ({"RANK": "2", "LOCAL_RANK": "0", "OMPI_COMM_WORLD_RANK": "1"}, 2),
            ({"RANK": "0", "OMPI_COMM_WORLD_RANK": "1"}, 1),  # RANK is the node's, of the job around mpirun
            ({"RANK": "", "PMI_RANK": "4"}, 4),
            ({"RANK": "x"}, 0),
            ({"RANK": "²"}, 0),
        ],
    )
    def test_the_closest_launcher_counts(self, environ: dict[str, str], rank: int) -> None:
        assert rank_of(environ) == rank

    def test_all_ranks_have_runs_of_their_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RANK", "3")
        run = track.start("mnist", all_ranks=True)
        run.log({"loss": 1}, step=1)
        assert (run.name, simple(run)) == ("mnist-rank3", [("train", "loss", 1, 1.0)])
        run.finish()

    def test_off_writes_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DANLU_TRACK", "off")
        assert isinstance(track.start("mnist"), track.SilentRun)


class TestEnd:
    def test_context_manager(self) -> None:
        with track.start("good") as good:
            good.log({"loss": 1}, step=1)
        assert read_run(good.path).state == "finished"
        with pytest.raises(ValueError, match="boom"), track.start("bad") as bad:
            raise ValueError("boom")
        last = journal.scan(open_journals(bad.path)[0].data).frames[-1]
        assert last.kind == Kind.FINISH
        assert journal.decode_json(last)["reason"] == "ValueError: boom"
        with pytest.raises(SystemExit), track.start("left") as left:
            sys.exit(3)
        assert [read_run(run.path).state for run in (bad, left)] == ["failed", "failed"]

    def test_a_folder_that_cannot_be_written_is_one_warning(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import tempfile

        taken = Path("taken.txt")
        taken.touch()
        monkeypatch.setattr(tempfile, "tempdir", os.getcwd())
        run = track.start("mnist", dir=taken)
        run.log({"loss": 1}, step=1)
        assert simple(run) == [("train", "loss", 1, 1.0)]
        assert len(caplog.records) == 1
        assert "taken.txt cannot be used" in caplog.text
        run.finish()


class TestLoad:
    def test_goes_on_as_a_newer_branch(self) -> None:
        first = track.start("mnist", {"lr": 0.1}, labels=["x"])
        for step in range(5):
            first.log({"loss": 1.0}, step=step)
        first.summary["best"] = 0.5
        first.finish("failed")
        second = track.load(first.path)
        assert (second.id, dict(second.hparams), dict(second.summary)) == (first.id, {"lr": 0.1}, {"best": 0.5})
        second.log({"loss": 2.0}, step=3)
        second.log({"loss": 2.0})
        assert [(point.branch, point.step) for point in logged(second)] == [
            *((1, step) for step in range(5)),
            (2, 3),
            (2, 4),
        ]
        assert (read_run(first.path).state, read_run(first.path).branch) == (None, 2)
        second.finish()
        with track.load(first.id) as third:
            assert third.id == first.id

    def test_rewind_begins_a_branch_in_the_same_file(self) -> None:
        run = track.start("mnist")
        for step in range(4):
            run.log({"loss": step}, step=step)
        run.rewind(2)
        run.log({"loss": 9})
        assert [(point.branch, point.step) for point in logged(run)] == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 2)]
        run.finish()

    def test_no_such_run(self) -> None:
        with pytest.raises(FileNotFoundError, match="no run in this folder"):
            track.load("nowhere")

    def test_the_next_attempt_of_a_job_finds_the_same_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from danlu.track import begin

        monkeypatch.setenv("DANLU_JOB_ID", "train-7")
        found = []
        for attempt in ("1", "2"):
            monkeypatch.setenv("DANLU_ATTEMPT", attempt)
            begin._counts.clear()  # a new process
            with track.start("mnist", dir=f"attempt{attempt}") as run:
                found.append((run.id, read_run(run.path).header["branch"]))
            with track.start("mnist", dir=f"attempt{attempt}") as other:
                assert other.id != run.id
        assert found == [(found[0][0], 1), (found[0][0], 2)]


class TestOutput:
    def test_who_wrapped_the_stream_after_us_keeps_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        run = track.start("mnist")
        ours = sys.stdout.write
        seen = []

        def theirs(text: str) -> int:
            seen.append(text)
            return ours(text)

        sys.stdout.write = theirs  # type: ignore[method-assign]
        print("one")
        run.finish()
        assert sys.stdout.write is theirs
        print("two")
        assert (capsys.readouterr().out, "".join(seen)) == ("one\ntwo\n", "one\ntwo\n")
        del sys.stdout.write

    def test_a_long_print_is_kept_in_pieces(self, capsys: pytest.CaptureFixture[str]) -> None:
        with track.start("mnist") as run:
            print("x" * 1_500_000)
        one = open_journals(run.path)[0]
        found = [journal.decode_output(frame) for frame in journal.scan(one.data).frames if frame.kind == Kind.OUTPUT]
        assert sum(len(piece.data) for piece in found) == 1_500_001


class TestMedia:
    def test_text_image_and_histogram(self) -> None:
        run = track.start("mnist")
        run.log({"loss": 1}, step=4)
        run.log_text("sample", "你好\ud800")
        run.log_image("grey", [[0, 255], [128, 64]], step=5)
        run.log_image("chw", [[[0.0] * 5] * 4] * 3)
        run.log_histogram("weights", [1, 2, 2, 3, float("nan")], bins=2)
        run.flush()
        one = open_journals(run.path)[0]
        found = [journal.decode_media(frame) for frame in journal.scan(one.data).frames if frame.kind == Kind.MEDIA]
        assert [(media.about["kind"], media.about["name"], media.about["step"]) for media in found] == [
            ("text", "sample", 4),
            ("image", "grey", 5),
            ("image", "chw", 4),
            ("histogram", "weights", 4),
        ]
        assert found[0].data == "你好\\ud800".encode()
        assert found[3].data == b'{"edges": [1.0, 2.0, 3.0], "counts": [1, 3]}'
        import io

        from PIL import Image as image  # noqa: N813

        grey = image.open(io.BytesIO(found[1].data))
        assert (grey.size, list(grey.tobytes())) == ((2, 2), [0, 255, 128, 64])
        assert image.open(io.BytesIO(found[2].data)).size == (5, 4)
        run.finish()

    def test_large_data_comes_in_parts(self) -> None:
        run = track.start("mnist")
        run.log_text("long", "x" * 3_000_000)
        run.flush()
        one = open_journals(run.path)[0]
        parts = [journal.decode_media(frame) for frame in journal.scan(one.data).frames if frame.kind == Kind.MEDIA]
        assert [(part.about["part"], part.about["parts"]) for part in parts] == [(0, 3), (1, 3), (2, 3)]
        assert sum(len(part.data) for part in parts) == 3_000_000
        run.finish()

    def test_what_is_no_image_is_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        run = track.start("mnist")
        run.log_image("bad", b"hello")
        run.log_image("bad", b"hello")
        run.log_image("worse", object())
        assert len(caplog.records) == 2
        assert "these bytes are no PNG" in caplog.text
        run.finish()


def test_names_of_the_package_are_no_modules_of_it() -> None:
    """They are loaded on first use: a module of the same name would take their place once it is imported."""
    modules = {one.name for one in pkgutil.iter_modules(track.__path__)}
    assert modules & set(track.__all__) == set()
    assert all(hasattr(track, name) for name in track.__all__)
