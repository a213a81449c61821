"""What is given to TensorBoard and to scikit-learn and PyTorch lands in a run, with the real libraries."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest
import torch
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from tests.track.mirrored import ends, logged, no_run_goes_on  # noqa: F401 (a fixture)
from torch.utils.tensorboard import SummaryWriter

from danlu import journal, track
from danlu.journal import Kind
from danlu.track.folders import find_runs
from danlu.track.listen.patching import Patches
from danlu.track.mirrors.wandb import axis_name
from danlu.track.reading import open_journals, read_run


def media(folder: str) -> list[tuple[str, str, str, str]]:
    frames = [frame for one in open_journals(folder) for frame in journal.scan(one.data).frames]
    about = [journal.decode_media(frame).about for frame in frames if frame.kind == Kind.MEDIA]
    return [(one["kind"], one["type"], one["name"], one["format"]) for one in about]


def test_what_a_summary_writer_is_given_is_logged_too(tmp_path: Path) -> None:
    original = SummaryWriter.add_scalar
    with track.start("mine") as run, track.mirror_tensorboard(run):
        writer = SummaryWriter(str(tmp_path / "events"))
        for step in range(3):
            writer.add_scalar("val/loss", torch.tensor(1.0 / (step + 1)), step)
        writer.add_scalars("speed", {"a": 1.0, "b": 2.0}, 5)
        writer.add_histogram("weights", numpy.arange(1000.0), 2)
        writer.add_image("picture", numpy.zeros((3, 4, 5), dtype=numpy.uint8), 1)
        writer.add_images("batch", torch.zeros(2, 3, 4, 5), 1)
        writer.add_text("note", "hello", 1)
        writer.add_audio("sound", torch.zeros(1, 10), 1, sample_rate=8000)
        writer.add_pr_curve("curve", numpy.array([0, 1, 1]), numpy.array([0.1, 0.8, 0.3]), 1)
        writer.add_hparams({"lr": 0.1}, {"best": 0.9})
        writer.close()
        run.flush()
        assert logged(run.path) == {
            ("val", "loss"): [(0, 1.0), (1, 0.5), (2, pytest.approx(1 / 3))],
            ("train", "speed/a"): [(5, 1.0)],
            ("train", "speed/b"): [(5, 2.0)],
        }
        assert [one[0] for one in media(run.path)] == ["histogram", "image", "images", "text", "audio", "pr_curve"]
        assert (dict(run.hparams), dict(run.summary)) == ({"lr": 0.1}, {"best": 0.9})
    assert SummaryWriter.add_scalar is original
    assert track.import_tensorboard(tmp_path / "events").num_points == 6  # its own files are whole


def test_writers_of_one_folder_are_one_run_and_exceptions_stay(tmp_path: Path) -> None:
    with track.mirror_tensorboard() as mirror:
        for name in ("train", "val"):
            with SummaryWriter(str(tmp_path / "mnist" / name)) as writer:
                writer.add_scalar("loss", 0.5, 1)
        with pytest.raises(Exception), SummaryWriter(str(tmp_path / "mnist" / "val")) as writer:  # noqa: B017, PT011
            writer.add_scalar("loss", object(), 2)
        mirror.undo()
    (folder,) = find_runs(".danlu")
    assert read_run(folder).header["name"] == "mnist"
    assert read_run(folder).state == "finished"
    assert logged(folder) == {("train", "loss"): [(1, 0.5)], ("val", "loss"): [(1, 0.5)]}


def test_writers_of_several_folders_are_runs_of_their_own_unless_the_script_has_one(tmp_path: Path) -> None:
    with track.mirror_tensorboard():
        writers = [SummaryWriter(str(tmp_path / "lr" / name)) for name in ("0.1", "0.2")]
        for step in (1, 2):
            for number, writer in enumerate(writers):
                writer.add_scalar("loss", number, step)
        with track.start("mine") as mine:
            for writer in writers:
                writer.add_scalar("loss", 7, 3)
        for writer in writers:
            writer.close()
    points = {read_run(folder).header["name"]: logged(folder)[("train", "loss")] for folder in find_runs(".danlu")}
    assert points == {"0.1": [(1, 0), (2, 0)], "0.2": [(1, 1), (2, 1)], "mine": [(3, 7), (3, 7)]}
    assert mine.state == "finished"


class Rude(Exception):
    """Has neither a text nor a `repr`."""

    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_a_listener_that_breaks_with_an_exception_without_text_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise Rude

    with track.start("mine") as run, track.mirror_tensorboard(run):
        monkeypatch.setattr(run, "log", refuse)
        with SummaryWriter(str(tmp_path / "events")) as writer:
            writer.add_scalar("loss", 0.5, 1)
    assert "could not be written down: <Rude: RuntimeError>" in caplog.text


class Failing(BaseEstimator):  # type: ignore[misc]
    def fit(self, data: object) -> Failing:
        raise Rude


def test_a_fit_that_fails_without_text_is_a_failed_run() -> None:
    with track.autolog(frameworks="sklearn"), pytest.raises(Rude):
        Failing().fit([[1.0]])
    assert ends(Path(".danlu")) == {"Failing": ("failed", "Rude: <Rude: TypeError>")}


class Unreadable(BaseEstimator):  # type: ignore[misc]
    def get_params(self, deep: bool = True) -> dict[str, object]:
        raise RuntimeError("no parameters")

    def fit(self, data: object) -> Unreadable:
        return self


def test_a_fit_whose_parameters_cannot_be_read_took_as_long_as_it_took() -> None:
    began = time.perf_counter()
    with track.autolog(frameworks="sklearn"):
        Unreadable().fit([[1.0]])
    elapsed = time.perf_counter() - began
    (folder,) = find_runs(".danlu")
    ((_, seconds),) = logged(folder)[("train", "Unreadable/fit_seconds")]
    assert 0 <= seconds <= elapsed


def test_a_listener_that_breaks_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with track.start("mine") as run, track.mirror_tensorboard(run):
        monkeypatch.setattr(run, "log", lambda *_: 1 / 0)
        with SummaryWriter(str(tmp_path / "events")) as writer:
            writer.add_scalar("loss", 0.5, 1)
            writer.add_scalar("loss", 0.5, 2)
    assert caplog.text.count("could not be written down") == 1


def test_nothing_is_loaded_and_what_comes_later_is_listened_to(python: Callable[..., subprocess.Popen[str]]) -> None:
    script = """
import sys
from danlu import track
mirrors = [track.mirror_tensorboard(), track.mirror_wandb(), track.autolog()]
heavy = {"torch", "numpy", "sklearn", "tensorboard", "wandb", "keras", "transformers"} & set(sys.modules)
assert not heavy, heavy
import sklearn.svm, torch
from torch.utils.tensorboard import SummaryWriter
run = track.start("later")
SummaryWriter("events").add_scalar("loss", 1.0, 7)
sklearn.svm.SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1])
run.flush()
print(sorted(run.hparams))
for mirror in mirrors:
    mirror.undo()
from danlu.track.listen.patching import _finder
assert _finder not in sys.meta_path
SummaryWriter("events").add_scalar("loss", 1.0, 8)
sklearn.svm.SVC(kernel="rbf").fit([[0.0], [1.0]], [0, 1])
assert run.hparams["SVC"]["kernel"] == "linear"
run.finish()
"""
    done = python(script)
    out, err = done.communicate()
    assert (done.returncode, out.strip()) == (0, "['SVC']"), err
    (folder,) = find_runs(str(Path.cwd() / ".danlu"))
    assert logged(folder)["train", "loss"] == [(7, 1.0)]


class Nosy:
    """A finder of another library that looks for something else, and then for the same module, as Danlu's does."""

    def __init__(self) -> None:
        self.is_asked = False
        self.was_hooked: list[bool] = []

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name != "first_of_two" or self.is_asked:
            return None
        self.is_asked = True
        find_spec("second_of_two")
        found = find_spec(name)
        self.was_hooked.append(found is not None and "exec_module" in vars(found.loader))
        return found


def test_other_finders_may_look_for_modules_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first_of_two", "second_of_two"):
        (tmp_path / f"{name}.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    nosy, told = Nosy(), list[str]()
    with Patches() as patches:
        monkeypatch.setattr(sys, "meta_path", [nosy, *sys.meta_path])
        for name in ("first_of_two", "second_of_two"):
            patches.when_there(name, lambda module: told.append(module.__name__))
        import_module("first_of_two")
        assert told == ["first_of_two"]
        import_module("second_of_two")
        assert told == ["first_of_two", "second_of_two"]
    assert nosy.was_hooked == [False], "it is hooked into once, for the first who asked"
    for name in told:
        sys.modules.pop(name)


def test_each_fit_is_a_run_unless_one_is_going_on() -> None:
    data, truth = numpy.array([[0.0], [1.0], [2.0], [3.0]]), numpy.array([0, 0, 1, 1])
    with track.autolog(frameworks=["sklearn"]):
        LogisticRegression(C=2.0).fit(data, truth)
        with pytest.raises(ValueError, match="inconsistent"):
            LogisticRegression().fit(data, truth[:2])
        with track.start("search") as run:
            GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(data, truth)
            run.flush()
            assert run.summary["GridSearchCV.best_params"]["C"] in (0.1, 1.0)
            assert [one[2] for one in media(run.path)] == ["GridSearchCV/cv_results"]
            assert list(run.hparams) == ["GridSearchCV"]  # the fits inside of it are its own
    LogisticRegression().fit(data, truth)
    found = {read_run(folder).header["created_at"]: folder for folder in find_runs(".danlu")}
    fine, failed, search = (found[at] for at in sorted(found))
    assert read_run(fine).hparams["LogisticRegression"]["C"] == 2.0
    assert logged(fine)["train", "LogisticRegression/accuracy"][0][1] == 1.0
    assert [read_run(one).state for one in (fine, failed, search)] == ["finished", "failed", "finished"]


def test_losses_of_pytorch_and_gradients_on_request() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    run = track.start("torch")
    auto, seen = track.autolog(run, every=2), track.watch(model, run, every=3, parameters=True)

    def train(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).pow(2).mean().backward()
            optimizer.step()

    train(4)
    auto.undo()
    seen.undo()
    train(4)
    run.flush()
    found = logged(run.path)
    assert [step for step, _ in found["train", "loss"]] == [0, 2]
    assert found["train", "lr"] == [(0, 0.5), (2, 0.5)]
    assert [step for step, _ in found["gradients", "norm"]] == [0, 3]
    assert found["gradients", "nonfinite"] == [(0, 0.0), (3, 0.0)]
    assert {(kind, type) for kind, type, *_ in media(run.path)} == {
        ("histogram", "gradients"),
        ("histogram", "parameters"),
    }
    assert run.hparams["optimizer"]["name"] == "SGD"
    assert run.hparams["num_parameters"] == 3
    run.finish()


def test_gradients_that_are_no_numbers_are_counted() -> None:
    model = torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with track.start("torch") as run, track.watch(model, run, every=1):
        model.weight.grad = torch.tensor([[float("nan"), 3.0]])
        optimizer.step()
        run.flush()
        assert logged(run.path) == {("gradients", "norm"): [(0, 3.0)], ("gradients", "nonfinite"): [(0, 1.0)]}


def test_the_classes_are_as_before() -> None:
    import inspect
    import pickle

    signature = inspect.signature(LogisticRegression.fit)
    with track.autolog(frameworks=["sklearn"]):
        assert inspect.signature(LogisticRegression.fit) == signature
        pickle.loads(pickle.dumps(LogisticRegression()))
    assert not hasattr(LogisticRegression.fit, "__closure__") or "listened" not in LogisticRegression.fit.__qualname__
    assert "danlu" not in sys.modules[LogisticRegression.fit.__module__].__name__


def test_axes_of_wandb_are_those_of_series_here() -> None:
    names = {"*": "*", "loss": "train/loss", "validation/*": "val/*", "layer/x": "train/layer/x"}
    assert {name: axis_name(name) for name in names} == names
