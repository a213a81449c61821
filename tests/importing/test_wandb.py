"""Offline folders of W&B, in the layout that its package writes (checked with wandb 0.31.0)."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.foreign_files import (
    AT,
    PNG,
    WANDB_HEADER,
    field,
    history,
    items,
    moment,
    number_field,
    transaction_log,
    wandb_artifact,
    wandb_run,
)

from danlu.importing.records import Alert, Event, ForeignRun, Medium, Points, Printed
from danlu.importing.swanlab import SwanlabFolders
from danlu.importing.tensorboard import EventFolders
from danlu.importing.trackio import TrackioProjects
from danlu.importing.wandb.folders import WandbFolders
from danlu.importing.wandb.tables import WandbTables

ABOUT: dict[str, Any] = {
    "entity": "team",
    "project": "vision",
    "group": "g1",
    "job_type": "fit",
    "name": "first",
    "notes": "of mine",
}
EXIT = field(18, number_field(1, 0) + number_field(2, 60))


def read(top: Path, **more: bool) -> tuple[list[ForeignRun], list[str]]:
    source = WandbFolders(top, **more)
    return list(source.runs()), source.problems()


def one(top: Path) -> tuple[ForeignRun, list[Event]]:
    runs, problems = read(top)
    assert problems == []
    return runs[0], list(runs[0].events())


def test_what_stands_over_a_run(tmp_path: Path) -> None:
    records = [
        field(5, items({"lr": 0.2, "opt.wd": 0.5})),
        field(5, field(2, field(1, "gone"))),
        field(3, items({"best": 0.9, "_step": 3, "img": {"_type": "image-file"}})),
        EXIT,
    ]
    wandb_run(tmp_path, "abc", records, files={"requirements.txt": b"torch==2.1\n"}, tags="a,b", sweep="s1", **ABOUT)
    run, events = one(tmp_path)
    assert events == []
    assert (run.name, run.folder, run.group, run.description) == ("first", "vision", "g1", "of mine")
    assert (run.created_at, run.labels) == (AT, ("a", "b", "job_type:fit", "sweep:s1"))
    assert run.hparams == {"lr": 0.2, "opt": {"name": "sgd", "wd": 0.5}}
    assert run.summary == {"best": 0.9}
    assert (run.state, run.ended_at) == ("finished", AT + 60)
    assert run.environment["packages"] == {"torch": "2.1"}
    assert [(made.name, list(made.files)) for made in run.artifacts] == [("wandb/vision/abc", ["requirements.txt"])]


def test_history_output_and_the_machine(tmp_path: Path) -> None:
    records = [
        history({"train/loss": 0.5, "epoch": 1, "nested.x": 3, "note": "hello", "flag": True}, 0),
        history({"train/loss": float("nan"), "other": None}, 5),
        field(7, field(2, moment(AT + 9)) + items({"cpu": 50}, number=3)),
        field(13, number_field(1, 1) + field(2, moment(AT + 10)) + field(3, "printed\n")),
        field(13, field(2, moment(AT + 11)) + field(3, "wrong\n")),
        field(10, field(1, "Alert") + field(2, "text") + field(3, "WARN")),
    ]
    wandb_run(tmp_path, "abc", records, **ABOUT)
    run, events = one(tmp_path)
    assert events[0] == Points({"train/loss": 0.5, "epoch": 1.0, "nested.x": 3.0, "flag": 1.0}, 0, AT, 1.0)
    assert events[1] == Medium("text", "note", b"hello", 0, AT)
    assert isinstance(events[2], Points)
    assert (events[2].step, math.isnan(events[2].values["train/loss"])) == (5, True)
    assert events[3] == Points({"cpu": 50.0}, 9, AT + 9, type="system")
    assert events[4:6] == [Printed(1, AT + 10, b"printed\n"), Printed(2, AT + 11, b"wrong\n")]
    assert events[6] == Alert("Alert", "text", "WARN", 5, AT + 11)
    assert (run.state, run.reason) == ("died", "the file of W&B ends without the end of the run")


def test_media_are_read_from_the_files_of_the_run(tmp_path: Path) -> None:
    table = json.dumps({"columns": ["a"], "data": [[1], ["x"]]}).encode()
    values = {
        "img": {"_type": "image-file", "path": "media/images/a.png", "caption": "black"},
        "imgs": {"_type": "images/separated", "filenames": ["media/images/a.png", "media/images/a.png"]},
        "hist": {"_type": "histogram", "values": [1, 2], "bins": [0, 1, 2]},
        "table": {"_type": "table-file", "path": "media/t.json"},
        "html": {"_type": "html-file", "path": "media/x.html"},
        "plot": {"_type": "plotly-file", "path": "media/p.json"},
        "bad": {"_type": "plotly-file", "path": "media/x.html"},
        "more": {"_type": "incremental-table-file", "path": "media/t.json"},
        "mol": {"_type": "molecule-file", "path": "media/x.html"},
        "gone": {"_type": "image-file", "path": "media/gone.png"},
    }
    files = {
        "media/images/a.png": PNG,
        "media/t.json": table,
        "media/x.html": b"<b>bold</b>",
        "media/p.json": b'{"data": [{"x": [1]}], "layout": {}, "frames": []}',
    }
    wandb_run(tmp_path, "abc", [history(values, 2)], files=files, **ABOUT)
    run, events = one(tmp_path)
    assert [(event.kind, event.name) for event in events if isinstance(event, Medium)] == [
        ("image", "img"),
        ("text", "img/caption"),
        ("image", "imgs/0"),
        ("image", "imgs/1"),
        ("histogram", "hist"),
        ("table", "table"),
        ("html", "html"),
        ("plotly", "plot"),
        ("table", "more"),
    ]
    shown = {event.name: event.data for event in events if isinstance(event, Medium)}
    assert json.loads(shown["table"])["types"] == ["mixed"]
    assert (shown["html"], json.loads(shown["plot"])) == (b"<b>bold</b>", {"data": [{"x": [1]}], "layout": {}})
    told = run.problems.all()
    assert len(told) == 3
    assert ["'bad'" in told[0], "molecule-file" in told[1], "gone.png" in told[2]] == [True] * 3


@pytest.mark.parametrize("path", ["/etc/hostname", "../../secret.png", "link.png", "a\0b", "x" * 5000])
def test_no_medium_is_read_from_elsewhere(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.png").write_bytes(PNG)
    file = wandb_run(tmp_path / "wandb", "abc", [history({"i": {"_type": "image-file", "path": path}}, 0)], **ABOUT)
    (file.parent / "files" / "link.png").symlink_to(tmp_path / "secret.png")
    run, events = one(tmp_path)
    assert events == []
    assert any("is not there" in told for told in run.problems.all())
    assert any("is a link to outside of" in told for told in run.problems.all())
    assert run.artifacts == ()


def test_links_are_followed_when_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "saved.txt").write_text("saved")
    file = wandb_run(tmp_path / "wandb", "abc", [], **ABOUT)
    (file.parent / "files" / "saved.txt").symlink_to(tmp_path / "saved.txt")
    os.mkfifo(file.parent / "files" / "pipe")
    runs, _ = read(tmp_path, follow_links=True)
    assert list(runs[0].artifacts[0].files) == ["saved.txt"]
    assert ["pipe" in told for told in runs[0].problems.all()] == [True]


def test_files_of_an_artifact_must_be_what_the_log_says(tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("weights")
    (tmp_path / "secret").write_text("secret")
    records = [
        wandb_artifact("model", {"w.bin": tmp_path / "weights"}),
        wandb_artifact("stolen", {"x": tmp_path / "secret"}, digest="AAAAAAAAAAAAAAAAAAAAAA=="),
    ]
    wandb_run(tmp_path / "wandb", "abc", records, **ABOUT)
    run, _ = one(tmp_path)
    assert [(made.name, dict(made.files)) for made in run.artifacts] == [
        ("vision/model", {"w.bin": tmp_path / "weights"})
    ]
    assert [told for told in run.problems.all() if "stolen" in told] == [
        "artifact 'stolen': its file 'x' is not here as it was logged"
    ]


def test_bad_runs_do_not_keep_the_others_back(tmp_path: Path) -> None:
    wandb_run(tmp_path, "good", [EXIT], **ABOUT)
    for name, data in (
        ("empty", b""),
        ("zeros", bytes(100_000)),
        ("noise", os.urandom(100_000)),
        ("nobody", transaction_log(WANDB_HEADER, [field(2, b"\xff" * 50), b"\xff\xff\xff", b"\x0a" * 9])),
    ):
        folder = tmp_path / f"offline-run-{name}"
        folder.mkdir()
        (folder / f"run-{name}.wandb").write_bytes(data)
    runs, problems = read(tmp_path)
    assert [run.key for run in runs] == ["team/vision/good"]
    assert len(problems) == 4


def test_hostile_values_are_named(tmp_path: Path) -> None:
    deep = "[" * 100_000
    records = [
        field(2, field(1, field(1, "deep") + field(16, deep)) + field(1, field(1, "x") + field(16, "1"))),
        field(2, field(1, field(1, "big") + field(16, "1" + "0" * 400))),
        history({"h": {"_type": "histogram", "values": [1] * 10, "bins": [0]}}, 1),
        history({"h": {"_type": "histogram", "values": [1e999], "bins": ["a", {}]}}, 2),
        field(2, number_field(1, 7)),
        field(2, field(1, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")),
        field(5, field(1, b"".join(field(2, "k") for _ in range(5000)) + field(16, "1"))),
    ]
    wandb_run(tmp_path, "abc", records, **ABOUT)
    run, events = one(tmp_path)
    assert any(isinstance(event, Points) and event.values == {"x": 1.0} for event in events)
    assert len(run.problems.all()) >= 4


def test_a_run_in_two_files_is_one_run_with_two_branches(tmp_path: Path) -> None:
    wandb_run(tmp_path / "a", "abc", [], **ABOUT)
    file = wandb_run(tmp_path / "b", "abc", [], **ABOUT)
    file.parent.rename(tmp_path / "b" / "offline-run-20231115_000000-abc")
    runs, _ = read(tmp_path)
    assert [(run.key, run.branch) for run in runs] == [("team/vision/abc", 1), ("team/vision/abc", 2)]
    assert runs[0].part != runs[1].part


def test_axes_that_metrics_were_defined_with(tmp_path: Path) -> None:
    records = [
        field(12, field(1, "val/acc") + field(4, "samples")),
        field(12, field(2, "train/*") + field(4, "train/seen")),
        field(12, field(1, "plain") + field(4, "_step")),
        field(12, field(1, "samples")),
        history({"val/acc": 1, "train/loss": 2, "train/seen": 3, "plain": 4, "samples": 5}, 0),
    ]
    wandb_run(tmp_path, "abc", records, **ABOUT)
    run, _ = one(tmp_path)
    assert run.axes == {"val/acc": "samples", "train/*": "train/seen"}


def test_pipes_are_passed_over(tmp_path: Path) -> None:
    wandb_run(tmp_path, "abc", [], **ABOUT)
    for name in ("run-pipe.wandb", "events.out.tfevents.1", "run-1.swanlab", "x.db", "x.csv"):
        os.mkfifo(tmp_path / name)
    assert [run.key for run in read(tmp_path)[0]] == ["team/vision/abc"]
    for source in (EventFolders(tmp_path), SwanlabFolders(tmp_path, json.loads), TrackioProjects(tmp_path)):
        assert list(source.runs()) == []
    assert list(WandbTables(tmp_path).runs()) == []
