"""What `client.runs.list` returns: counted, indexed, sorted, a table; and what scripts pass without a thought."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import typing
import warnings
from pathlib import Path
from types import ModuleType

import numpy
import pytest
import torch

import danlu
from danlu import track
from danlu.client import Client
from danlu.client.tracking.run_list import RunList
from danlu.errors import InvalidInput, MissingExtra, NotFound
from danlu.importing.event_files import read_events
from danlu.spec.fields import JobFields
from danlu.spec.job import JobSpec, parse_job
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until
from danlu.track.reading import open_journals, points
from danlu.track.tensorboard import write_events

SOURCE = str(Path(danlu.__file__).parents[1])


@pytest.fixture(scope="module")
def runs(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> RunList:
    """Three runs: the second is the best, the third has no val/acc."""
    folder = tmp_path_factory.mktemp("runs")
    for name, lr, accuracy in (("a", 0.1, (0.5, 0.6)), ("b", 0.01, (0.9, 0.7)), ("c", 1.0, ())):
        run = track.start(name, {"lr": lr, "deep": {"width": 8}}, folder="listed", dir=folder)
        for value in accuracy:
            run.log("val", {"acc": value})
        run.log("train", {"loss": 1.0 if accuracy else math.inf})
        run.finish()
    environ = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "PYTHONPATH": SOURCE}
    subprocess.run([sys.executable, "-m", "danlu", "sync", str(folder)], env=environ, check=True, capture_output=True)
    with server.client() as client:
        wait_until(lambda: len(client.runs.list("state = finished", folder="listed")) == 3)
        return client.runs.list(folder="listed")[:]


def names(found: RunList) -> list[str]:
    return [run.name for run in found]


def test_a_list_is_counted_and_indexed(client: Client, runs: RunList) -> None:
    found = client.runs.list(folder="listed")
    assert found[0].name == runs[0].name
    assert (len(found), found[-1].name, len(found[1:]), bool(client.runs.list(folder="of-nobody"))) == (
        3,
        runs[2].name,
        2,
        False,
    )
    assert {run.name for run in found} == {"a", "b", "c"}
    assert repr(found).startswith("<3 runs: ")
    with pytest.raises(IndexError):
        found[3]


def test_it_is_sorted_by_what_runs_have(client: Client, runs: RunList) -> None:
    assert names(client.runs.list(folder="listed", sort="hparams.lr")) == ["b", "a", "c"]
    assert names(client.runs.list(folder="listed", sort="-hparams.lr", limit=2)) == ["c", "a"]
    assert names(client.runs.list(folder="listed", sort="-val/acc")) == ["b", "a", "c"]
    assert names(client.runs.list(folder="listed", sort="metrics.val.acc")) == ["a", "b", "c"]
    assert names(client.runs.list(folder="listed", sort="name")) == ["a", "b", "c"]
    with pytest.raises(InvalidInput, match="expected TYPE/NAME of a metric"):
        client.runs.list(folder="listed", sort="accuracy")


def test_the_best_run_and_its_points(client: Client, runs: RunList) -> None:
    best = client.runs.list(folder="listed").best("val/acc")
    assert (best.name, best.points("val/acc").value) == ("b", [0.9, 0.7])
    assert runs.best("val/acc", lowest=True).name == "a"
    with pytest.raises(NotFound, match="none of 3 runs has the series 'val/f1'; they have: train/loss, val/acc"):
        runs.best("val/f1")


def test_values_that_are_no_numbers_are_searched_sorted_and_exported(
    client: Client, runs: RunList, tmp_path: Path
) -> None:
    assert names(client.runs.list("metrics.train.loss = inf", folder="listed")) == ["c"]
    last = client.runs.list(folder="listed", sort="-train/loss", limit=1)[0]
    assert (last.name, last.value("train/loss")) == ("c", math.inf)
    write_events(client.runs.get(last.id), tmp_path / "events")
    assert [(one.tag, one.what) for one in read_events(str(tmp_path / "events"))] == [("train/loss", math.inf)]


def test_it_becomes_a_table(runs: RunList, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = ModuleType("pandas")
    pandas.DataFrame = list  # type: ignore[attr-defined]  # pandas is the user's; what it gets is ours
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    rows = {row["name"]: row for row in runs.to_pandas()}
    assert rows["a"]["hparams.lr"] == 0.1
    assert rows["b"]["metrics.val.acc"] == 0.7
    assert "metrics.val.acc" not in rows["c"]
    assert rows["c"]["metrics.train.loss"] == math.inf


def test_a_table_without_pandas_says_what_to_install(runs: RunList, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        runs.to_pandas()


def test_the_command_line_has_hyperparameters_as_columns(server: RunningServer, runs: RunList) -> None:
    environ = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "PYTHONPATH": SOURCE}
    words = [sys.executable, "-m", "danlu", "runs", "ls", "-f", "listed", "--sort", "-val/acc"]
    shown = subprocess.run(words, env=environ, check=True, capture_output=True, text=True).stdout.splitlines()
    assert shown[0].split()[4:8] == ["STEP", "lr", "val/acc", "train/loss"]
    assert [line.split()[1] for line in shown[1:]] == ["b", "a", "c"]


def test_keyword_fields_are_those_of_a_job() -> None:
    assert set(typing.get_type_hints(JobFields)) == set(JobSpec.model_fields)
    spec = JobSpec(name="x", command="true", launch="ddp", nodes=2, max_duration="2h", code="./code")
    assert (spec.max_duration, str(spec.launch), spec.code and spec.code.path) == (7200.0, "ddp", "./code")


def test_scalars_of_numpy_and_torch_are_hyperparameters() -> None:
    given = {"lr": numpy.float32(0.5), "n": numpy.int64(3), "deep": [numpy.bool_(True)], "t": torch.tensor(2)}
    spec = parse_job({"name": "x", "command": "true", "hyperparameters": given})
    assert spec.hyperparameters == {"lr": 0.5, "n": 3, "deep": [True], "t": 2}


def test_a_live_tensor_is_logged_without_a_warning(tmp_path: Path) -> None:
    run = track.start("live", dir=tmp_path)
    weight = torch.ones(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.log("train", {"loss": (weight * 2).sum(), "plain": 1.0}, step=1)
        run.log("train", {"loss": weight.sum(), "wrong": "text"}, step=2)
    run.finish()
    (journal,) = (one for one in open_journals(run.path) if one.header.get("writer") == "process")
    found = [(point.name, point.step, point.value) for point in points(journal)]
    assert found == [("loss", 1, 2.0), ("plain", 1, 1.0), ("loss", 2, 1.0)]


def test_a_server_that_is_away_is_one_sentence() -> None:
    script = "import danlu; danlu.Client('http://127.0.0.1:9', 'dk-x.y').jobs.get('x')"
    environ = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", script], env=environ, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("danlu: no server answers at http://127.0.0.1:9")
    assert len(done.stderr.splitlines()) == 1
