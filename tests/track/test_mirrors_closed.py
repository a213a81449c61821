"""Runs of mirrored TensorBoard writers end when these are closed, and go on when they log again."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.track.mirrored import ends, logged, no_run_goes_on, printed  # noqa: F401 (a fixture)
from torch.utils.tensorboard import SummaryWriter

from danlu import journal, track
from danlu.journal import Kind
from danlu.track.folders import find_runs
from danlu.track.reading import open_journals, read_run

TRIALS = """
import os, threading
from danlu import track
from torch.utils.tensorboard import SummaryWriter
track.mirror_tensorboard()
def used():
    return len(os.listdir("/proc/self/fd")), sum(one.name == "danlu-journal" for one in threading.enumerate())
most = [0, 0]
for number in range(60):
    writer = SummaryWriter(f"runs/trial{number}")
    writer.add_scalar("loss", number, 1)
    print(f"trial {number}")
    if number == LAST:
        raise ValueError("no data")
    writer.close()
    most = list(map(max, most, used()))
    if number == 10:
        early = used()[0]
assert most[0] <= early + 10, (early, most)
assert most[1] <= 30, most  # one takes 20 ms to end
"""


def test_a_trial_whose_writer_is_closed_has_ended(python: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    err = python(TRIALS.replace("LAST", "20")).communicate()[1]
    assert err.endswith("ValueError: no data\n"), err
    runs = {str(read_run(folder).header["name"]): folder for folder in find_runs(str(tmp_path / ".danlu"))}
    expected = {f"trial{number}": ("finished", "") for number in range(20)}
    assert ends(tmp_path / ".danlu") == {**expected, "trial20": ("failed", "ValueError: no data")}
    assert [printed(runs[f"trial{number}"]) for number in (0, 10)] == [b"trial 0\n", b"trial 10\n"]


def test_trials_use_no_more_descriptors_and_threads_than_are_open(
    python: Callable[..., subprocess.Popen[str]],
) -> None:
    child = python(TRIALS.replace("LAST", "None"))
    err = child.communicate()[1]
    assert child.returncode == 0, err


def test_a_writer_that_is_deleted_without_close_ends_its_run_with_the_next_one(tmp_path: Path) -> None:
    with track.mirror_tensorboard():
        for number in range(3):
            SummaryWriter(str(tmp_path / str(number))).add_scalar("loss", 1.0, 1)
        assert [state for state, _ in ends(Path(".danlu")).values()].count("running") == 1
    assert set(ends(Path(".danlu")).values()) == {("finished", "")}


def test_a_writer_that_logs_after_close_goes_on_with_its_run(tmp_path: Path) -> None:
    with track.mirror_tensorboard():
        writer = SummaryWriter(str(tmp_path / "mnist"))
        for step in (7, 3, 5, 1, 2, 4, 6):  # lower steps hide nothing
            writer.add_scalar("loss", step, step)
            writer.close()
        writer.close()
    (folder,) = find_runs(".danlu")
    known = read_run(folder)
    assert (known.state, known.branch) == ("finished", 4), "from the fourth time on it stays open"
    assert sorted(logged(folder)["train", "loss"]) == [(step, step) for step in range(1, 8)]
    begins = [
        journal.decode_json(frame)["from_step"]
        for one in open_journals(folder)
        for frame in journal.scan(one.data).frames
        if frame.kind == Kind.BRANCH
    ]
    assert begins == [8, 8, 8]


def test_a_folder_that_is_removed_after_close_becomes_another_run(tmp_path: Path) -> None:
    with track.mirror_tensorboard():
        writer = SummaryWriter(str(tmp_path / "mnist"))
        writer.add_scalar("loss", 1.0, 1)
        writer.close()
        shutil.rmtree(next(find_runs(".danlu")))
        writer.add_scalar("loss", 2.0, 2)
        writer.close()
    (folder,) = find_runs(".danlu")
    assert logged(folder) == {("train", "loss"): [(2, 2.0)]}


REOPENED = """
from danlu import track
from torch.utils.tensorboard import SummaryWriter
track.mirror_tensorboard()
def log(step):
    writer = SummaryWriter("runs/often")
    writer.add_scalar("loss", step, step)
    writer.close()
for step in range(50):
    log(step)
SummaryWriter("runs/open").add_scalar("loss", 1, 1)
1 / 0
"""


def test_a_writer_that_is_opened_at_every_call_makes_few_journals(
    python: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    python(REOPENED).communicate()
    often = next(one for one in find_runs(str(tmp_path / ".danlu")) if read_run(one).header["name"] == "often")
    assert len([one for one in open_journals(often) if one.header["writer"] == "process"]) == 4
    assert len(logged(often)["train", "loss"]) == 50
    assert ends(tmp_path / ".danlu")["often"] == ("finished", "")


@pytest.mark.parametrize("is_closed_by_with", [True, False])
def test_a_writer_that_is_closed_by_an_exception_has_a_failed_run(tmp_path: Path, is_closed_by_with: bool) -> None:
    def train() -> None:
        writer = SummaryWriter(str(tmp_path / "mnist"))
        writer.add_scalar("loss", 0.5, 1)
        if is_closed_by_with:
            with writer:
                raise ValueError("no data")
        try:
            raise ValueError("no data")
        finally:
            writer.close()

    with track.mirror_tensorboard():
        with pytest.raises(ValueError, match="no data"):
            train()
        assert ends(Path(".danlu")) == {"mnist": ("failed", "ValueError: no data")}


def test_an_exception_that_was_there_before_the_run_is_none_of_it(tmp_path: Path) -> None:
    with track.mirror_tensorboard():
        try:
            raise ValueError("no GPU")
        except ValueError:
            with SummaryWriter(str(tmp_path / "mnist")) as writer:
                writer.add_scalar("loss", 0.5, 1)
        assert ends(Path(".danlu")) == {"mnist": ("finished", "")}


def test_a_run_ends_with_the_last_writer_of_its_folder_and_the_newest_has_the_output(tmp_path: Path) -> None:
    with track.mirror_tensorboard():
        train, val = (SummaryWriter(str(tmp_path / "mnist" / name)) for name in ("train", "val"))
        train.add_scalar("loss", 1.0, 1)
        print("first")
        train.close()
        val.add_scalar("loss", 2.0, 1)
        other = SummaryWriter(str(tmp_path / "other"))
        other.add_scalar("loss", 3.0, 1)
        print("second")
        other.close()
        print("third")
        val.close()
        print("fourth")
        assert set(ends(Path(".danlu")).values()) == {("finished", "")}
    found = {str(read_run(folder).header["name"]): folder for folder in find_runs(".danlu")}
    assert {name: printed(folder) for name, folder in found.items()} == {
        "mnist": b"first\nthird\n",
        "other": b"second\n",
    }
    assert read_run(found["mnist"]).branch == 1
