"""Runs of W&B, TensorBoard, trackio and SwanLab arrive with everything, and only once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.importing.test_trackio import write_project
from tests.support.foreign_files import (
    AT,
    PNG,
    field,
    history,
    items,
    moment,
    number_field,
    swanlab_run,
    wandb_artifact,
    wandb_run,
)
from tests.support.foreign_files import swanlab_scalar as scalar
from tests.support.world import World, make_world

from danlu.cli import main
from danlu.client import Client
from danlu.client.tracking.importing import ImportedRuns
from danlu.client.tracking.runs import Run
from danlu.errors import InvalidInput
from danlu.journal.event_files import record, scalar_event

ABOUT: dict[str, Any] = {
    "entity": "team",
    "project": "vision",
    "group": "g1",
    "job_type": "fit",
    "name": "first",
    "notes": "of mine",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with make_world(tmp_path_factory.mktemp("import") / "data") as made:
        yield made


@pytest.fixture(scope="module")
def url(world: World) -> Iterator[str]:
    with world.serving() as served:
        yield served


@pytest.fixture
def client(world: World, url: str) -> Iterator[Client]:
    with Client(url=url, api_key=world.api_key()) as made:
        yield made


def only(client: Client, found: ImportedRuns, world: World) -> Run:
    """The run that came, when the server has read it."""
    (run_id,) = found.runs.values()
    world.state.metrics.ingest_changed()
    return client.runs.get(run_id)


def write_wandb(top: Path) -> Path:
    (top / "weights").write_text("weights")
    records = [
        field(12, field(1, "train/loss") + field(4, "samples")),
        history({"train/loss": 0.5, "val/acc": 0.1, "epoch": 0, "samples": 5}, 0),
        history({"train/loss": 0.25, "samples": 10, "img": {"_type": "image-file", "path": "media/a.png"}}, 3),
        field(7, field(2, moment(AT + 2)) + items({"cpu": 50}, number=3)),
        field(13, number_field(1, 1) + field(2, moment(AT + 3)) + field(3, "printed\n")),
        field(3, items({"best": 0.25})),
        wandb_artifact("model", {"w.bin": top / "weights"}),
        field(18, number_field(1, 3) + number_field(2, 60)),
    ]
    files = {"media/a.png": PNG, "requirements.txt": b"torch==2.1\n"}
    wandb_run(top / "wandb", "abc", records, files=files, tags="a,b", **ABOUT)
    return top / "wandb"


def test_wandb_arrives_with_everything_and_only_once(client: Client, world: World, tmp_path: Path) -> None:
    top = write_wandb(tmp_path)
    seen: list[str] = []
    found = client.runs.import_wandb(top, on_run=lambda run: seen.append(run.name))
    assert (found.problems, seen) == ([], ["first"])
    assert (found.num_points, found.num_media, found.num_files) == (7, 1, 3)
    run = only(client, found, world)
    about = run.details
    assert (about.name, about.folder, about.group, about.description) == ("first", "vision", "g1", "of mine")
    assert about.labels == ["a", "b", "job_type:fit"]
    assert about.hparams == {"lr": 0.1, "opt": {"name": "sgd"}}
    assert about.summary == {"best": 0.25}
    assert (about.state, about.reason) == ("failed", "exit code 3")
    assert (about.started_at.timestamp(), about.ended_at and about.ended_at.timestamp()) == (AT, AT + 60)
    loss = run.points("train/loss")
    assert (loss.step, loss.value, loss.time) == ([0, 3], [0.5, 0.25], [AT, AT + 3])
    assert loss.epoch == [0, None]
    assert {(one.type, one.name) for one in run.series()} == {
        ("train", "loss"),
        ("val", "acc"),
        ("", "epoch"),
        ("", "samples"),
        ("system", "cpu"),
    }
    (image,) = run.media()
    assert (image.kind, image.name, image.step, run.read_media(image)) == ("image", "img", 3, PNG)
    assert b"".join(run.output()) == b"printed\n"
    assert run.environment().packages == {"torch": "2.1"}
    made = client.artifacts.get("vision/model")
    assert [file.path for file in client.artifacts.manifest(made).files] == ["w.bin"]
    assert client.artifacts.get("wandb/vision/abc").version == 1
    again = client.runs.import_wandb(top)
    assert (again.runs, again.num_known) == ({}, 1)
    assert client.artifacts.get("vision/model").version == 1
    assert [one.id for one in client.runs.list("group = 'g1'")] == [run.id]
    assert about.axes == {"train/loss": "/samples"}
    assert run.points("train/loss", axis="own").x == [5.0, 10.0]


def test_a_file_that_has_grown_is_named_and_nothing_is_doubled(client: Client, world: World, tmp_path: Path) -> None:
    file = wandb_run(tmp_path, "grows", [history({"x": 1}, 0)], **ABOUT)
    run = only(client, client.runs.import_wandb(file), world)
    assert run.details.state == "died"
    file.parent.rename(tmp_path / "old")
    grown = wandb_run(tmp_path / "new", "grows", [history({"x": 1}, 0), history({"x": 2}, 1)], **ABOUT)
    again = client.runs.import_wandb(grown)
    assert (again.runs, again.num_known) == ({}, 1)
    assert f"it has changed since it was imported as {run.id}" in again.problems[0]
    assert run.points("/x").value == [1.0]


def test_a_resumed_run_in_two_folders_is_one_run(client: Client, world: World, tmp_path: Path) -> None:
    wandb_run(tmp_path, "two", [history({"x": 1.0}, step) for step in range(4)], **ABOUT)
    more = wandb_run(tmp_path / "b", "two", [history({"x": 2.0}, step) for step in (2, 3, 4)], **ABOUT)
    more.parent.rename(tmp_path / "offline-run-20231115_000000-two")
    found = client.runs.import_wandb(tmp_path)
    run = only(client, found, world)
    assert run.points("/x").value == [1.0, 1.0, 2.0, 2.0, 2.0]


def write_events(top: Path) -> Path:
    for name in ("logs/a/train", "logs/b"):
        (top / name).mkdir(parents=True)
        data = record(scalar_event(AT + 5, 1, tag="loss", value=0.5))
        (top / name / f"events.out.tfevents.1.{name[-1]}").write_bytes(data + data[:10])
    return top / "logs"


def write_swanlab(top: Path) -> Path:
    swanlab_run(top, "abc", [scalar("loss", 0, 0.5), field(11, number_field(1, 1) + field(3, moment(AT + 9)))])
    return top


OTHERS: dict[str, tuple[Callable[[Path], Path], int, int]] = {
    # how it is written, how many runs and how many problems it has
    "trackio": (lambda top: write_project(top).parent, 2, 3),
    "tensorboard": (write_events, 2, 2),
    "swanlab": (write_swanlab, 1, 0),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_arrive_and_only_once(client: Client, world: World, tmp_path: Path, name: str) -> None:
    made, num_runs, num_problems = OTHERS[name]
    place = made(tmp_path)
    importing = getattr(client.runs, f"import_{name}")
    found: ImportedRuns = importing(place)
    assert (len(found.runs), len(found.problems)) == (num_runs, num_problems)
    world.state.metrics.ingest_changed()
    assert {client.runs.get(run_id).details.state for run_id in found.runs.values()} == {"finished"}
    again: ImportedRuns = importing(place)
    assert (again.runs, again.num_known, again.num_points) == ({}, num_runs, 0)


def test_the_command_tells_and_goes_on(
    world: World, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DANLU_URL", url)
    monkeypatch.setenv("DANLU_API_KEY", world.api_key())
    wandb_run(tmp_path, "cli", [history({"x": 1}, 0)], **ABOUT)
    (tmp_path / "run-bad.wandb").write_bytes(os.urandom(100))
    with pytest.raises(SystemExit) as ended:
        main(["track", "import-wandb", str(tmp_path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert ended.value.code == 1
    assert list(told["runs"]) == ["team/vision/cli"]
    assert "not a .wandb file" in told["problems"][0]
    (tmp_path / "history.csv").write_text("_step,loss\n0,1\n")
    with pytest.raises(SystemExit) as ended:
        main(["track", "import-wandb", str(tmp_path / "history.csv")])
    assert not ended.value.code
    assert capsys.readouterr().out == "1 runs, 1 points, 0 media, 0 files\n"


def test_names_that_are_no_utf8_keep_no_run_back(client: Client, world: World, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path / "logs") + b"/\xff"))
    folder.mkdir(parents=True)
    graph = field(4, b"graph")  # the event files are kept as an artifact then
    events = record(scalar_event(AT, 0, tag="loss", value=1.0)) + record(number_field(2, 1) + graph)
    Path(folder, os.fsdecode(b"events.out.tfevents.1.\xff")).write_bytes(events)
    found = client.runs.import_tensorboard(tmp_path / "logs", name="bytes")
    assert only(client, found, world).name == "bytes/?"
    assert found.num_files == 1
    assert ["has no page here" in one for one in found.problems] == [True]
    assert client.runs.import_tensorboard(tmp_path / "logs", name="bytes").num_known == 1


@pytest.mark.parametrize("name", ["wandb", "trackio", "swanlab", "tensorboard"])
def test_a_place_without_runs_is_an_error(client: Client, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"there are no runs|no TensorBoard event file"):
        getattr(client.runs, f"import_{name}")(tmp_path)
