"""Folders of SwanLab, in the layout that its package writes (checked with swanlab 0.10.3)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.support.foreign_files import (
    AT,
    PNG,
    field,
    moment,
    number_field,
    swanlab_medium,
    swanlab_run,
    swanlab_scalar,
)

from danlu.client.tracking.plain_yaml import load_plain
from danlu.importing.records import ForeignRun, Medium, Points, Printed
from danlu.importing.swanlab import SwanlabFolders

CONFIG = b"lr: {desc: '', sort: 0, value: 0.1}\nopt: {desc: '', sort: 1, value: {name: sgd}}\n"
METADATA = json.dumps({"runtime": {"hostname": "h", "python_version": "3.11"}, "git": {"commit": "c0ffee"}}).encode()


def read(top: Path) -> tuple[list[ForeignRun], list[str]]:
    source = SwanlabFolders(top, load_plain)
    return list(source.runs()), source.problems()


def test_a_run_comes_out_field_by_field(tmp_path: Path) -> None:
    records = [
        field(12, number_field(1, 2) + field(3, "cpu.pct")),
        swanlab_scalar("train/loss", 0, 0.5),
        swanlab_scalar("cpu.pct", 3, 50.0),
        swanlab_medium("img", 1, 2, "a.png", "black"),
        swanlab_medium("chart", 1, 6, "a.json"),
        swanlab_medium("page", 1, 9, "a.html"),
        swanlab_medium("out", 1, 2, "../../../../etc/hostname"),
        field(16, field(1, "line") + field(3, moment(AT + 4))),
        field(11, number_field(1, 2) + field(2, "boom") + field(3, moment(AT + 9))),
    ]
    files = {"files/config.yaml": CONFIG, "files/swanlab-metadata.json": METADATA, "media/image/a.png": PNG}
    files["media/html/a.html"] = b"<b>bold</b>"
    swanlab_run(tmp_path, "abc", records, files=files)
    (run,), problems = read(tmp_path)
    assert problems == []
    assert (run.name, run.folder, run.group, run.description) == ("first", "vision", "g1", "notes")
    assert run.labels == ("a", "job_type:fit")
    assert run.hparams == {"lr": 0.1, "opt": {"name": "sgd"}}
    assert (run.state, run.reason, run.created_at, run.ended_at) == ("failed", "boom", AT, AT + 9)
    assert run.environment["host"] == "h"
    assert run.environment["git"]["commit"] == "c0ffee"
    assert list(run.events()) == [
        Points({"train/loss": 0.5}, 0, AT),
        Points({"cpu.pct": 50.0}, 3, AT + 3, type="system"),
        Medium("image", "img", PNG, 1, AT + 1),
        Medium("text", "img/caption", b"black", 1, AT + 1),
        Medium("html", "page", b"<b>bold</b>", 1, AT + 1),
        Printed(1, AT + 4, b"line\n"),
    ]
    told = run.problems.all()
    assert "echarts has no page here" in told[0]
    assert "'../../../../etc/hostname' is not there" in told[1]
    assert sorted(run.artifacts[0].files) == sorted(files)


def test_bad_runs_and_configurations_are_named(tmp_path: Path) -> None:
    bomb = b"a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    swanlab_run(tmp_path, "bomb", [], files={"files/config.yaml": bomb})
    swanlab_run(tmp_path, "object", [], files={"files/config.yaml": b"!!python/object/apply:os.system ['false']"})
    for name, data in (("noise", os.urandom(5000)), ("old", b":SWL\xd6\xe1\x01"), ("empty", b"")):
        swanlab_run(tmp_path, name, []).write_bytes(data)
    runs, problems = read(tmp_path)
    assert [run.key for run in runs] == ["/vision/bomb", "/vision/object"]
    assert ["alias" in runs[0].problems.all()[0], "could not determine" in runs[1].problems.all()[0]] == [True, True]
    assert [run.state for run in runs] == ["died", "died"]
    assert len(problems) == 3
    assert any("of version 1; this danlu reads 2" in told for told in problems)
