"""Trees in the documented `.em` layout arrive field by field, and a script gives the same run under either layout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from danlu import track
from danlu.client import Client
from danlu.client.tracking.runs import Run
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until
from t9k import em

BEGAN, ENDED = "2023-12-22T14:19:32.000000+08:00", "2023-12-22T14:20:32.000000+08:00"
BEGAN_AT = 1_703_225_972.0
NAMES = {"Complete": "mnist_torch_231222_141932_61p5jc", "Error": "mnist_torch_231222_141932_71p5jd"}
METRICS = """- value:
    loss: 0.25
    acc: .nan
  sequence:
    epoch: 1
    step: 500
    timestamp: '2023-12-22T14:19:40.000000+08:00'
- value:
    loss: 0.125
    acc: 0.5
  sequence:
    epoch: null
    step: 1000
    timestamp: '2023-12-22T14:19:50.000000+08:00'
"""


@pytest.fixture(autouse=True)
def signed_in(server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    em.login(server.url, server.api_key)
    yield
    em.logout()


def write_tree(top: Path, *, name: str, status: str) -> None:
    """A run, file by file as the layout says: nothing here is written by our own writer."""
    folder = top / "runs" / NAMES[status]
    (folder / "metrics").mkdir(parents=True)
    files: dict[str, Any] = {
        "metadata.yaml": {
            "kind": "Run",
            "name": name,
            "labels": ["PyTorch", "第一"],
            "description": "the first",
            "startTimestamp": BEGAN,
            "endTimestamp": ENDED,
            "status": status,
            "alternativeName": NAMES[status],
            "associations": {"input": [], "output": []},
            "remote": [],
        },
        "index.yaml": {
            "hyperparameters": "hyperparameters.yaml",
            "metrics": {"validate": "metrics/validate.yaml", "训练": "metrics/own.yaml"},
            "platform": "platform.yaml",
            "git": "git.yaml",
            "log": "stdout.log",
        },
        "hyperparameters.yaml": {"lr": 0.001, "layers": [1, 2], "opt": {"name": "adam"}, "on": True, "none": None},
        "platform.yaml": {"hostname": "old", "python": "3.8.18"},
        "git.yaml": {"commit": "c0ffee", "branch": "main"},
    }
    for file, value in files.items():
        (folder / file).write_text(yaml.safe_dump(value, allow_unicode=True))
    (folder / "metrics" / "validate.yaml").write_text(METRICS)
    (folder / "metrics" / "own.yaml").write_text(METRICS)
    (folder / "stdout.log").write_bytes("epoch 1\n第二\n".encode())


@pytest.mark.parametrize(("status", "state"), [("Complete", "finished"), ("Error", "failed")])
def test_a_tree_arrives_field_by_field(client: Client, tmp_path: Path, status: str, state: str) -> None:
    folder = f"em-fields-{state}"
    write_tree(tmp_path / "old", name="mnist_torch", status=status)
    em.upload(str(tmp_path / "old"), folder=folder, make_folder=True)
    run = ended(client, folder)
    about = run.details
    assert (about.name, about.labels, about.description) == ("mnist_torch", ["PyTorch", "第一"], "the first")
    assert about.hparams == {"lr": 0.001, "layers": [1, 2], "opt": {"name": "adam"}, "on": True, "none": None}
    assert about.state == state
    assert about.started_at.timestamp() == BEGAN_AT
    assert about.ended_at is not None
    assert about.ended_at.timestamp() == BEGAN_AT + 60
    assert {(one.type, one.name) for one in run.series()} == {
        (type, name) for type in ("val", "训练") for name in ("loss", "acc")
    }
    for type in ("val", "训练"):
        loss = run.points(f"{type}/loss")
        assert (loss.step, loss.value, loss.epoch) == ([500, 1000], [0.25, 0.125], [1.0, None])
        assert loss.time == [BEGAN_AT + 8, BEGAN_AT + 18]
        assert run.points(f"{type}/acc").value == [None, 0.5]
    assert b"".join(run.output()).decode() == "epoch 1\n第二\n"
    found = run.environment()
    assert found.environment["platform"] == {"hostname": "old", "python": "3.8.18"}
    assert found.git == {"commit": "c0ffee", "branch": "main"}
    em.upload(str(tmp_path / "old"), folder=folder)
    assert len(list(client.runs.list(folder=folder))) == 1
    assert run.points("val/loss").step == [500, 1000]


def train(run: Any) -> None:
    """The script: its calls are the same for both."""
    for step in range(5):
        run.log("train", {"loss": 1 / (step + 1), "acc": step / 5}, step=step * 100, epoch=step)
        print(f"step {step}")
    run.log("validation", {"loss": float("nan")}, step=400)
    run.hparams.update({"late": [1, 2]})
    run.finish()


def test_the_same_script_under_both_layouts_gives_the_same_run(
    client: Client, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DANLU_URL", server.url)
    monkeypatch.setenv("DANLU_API_KEY", server.api_key)
    hparams = {"lr": 0.1, "opt": {"name": "sgd"}}
    theirs = em.create_run(name="same", hparams=dict(hparams), labels=["a"], description="told")
    train(theirs)
    theirs.upload("em-same/theirs", make_folder=True)
    ours = track.start("same", dict(hparams), labels=["a"], description="told")
    train(ours)
    assert ours.upload("em-same/ours", make_folder=True)
    assert shown(ended(client, "em-same/theirs")) == shown(ended(client, "em-same/ours"))


def ended(client: Client, folder: str) -> Run:
    """The one run of a folder, once the server has read all of it."""
    (listed,) = client.runs.list(folder=folder)
    wait_until(lambda: client.runs.get(listed.id).details.state != "running")
    return client.runs.get(listed.id)


def shown(run: Run) -> dict[str, Any]:
    """All that people see of a run, but its moments and the machine."""
    about = run.details
    series = [(one.type, one.name) for one in run.series() if one.type != "system"]
    points = {key: run.points("/".join(key)) for key in sorted(series)}
    return {
        "about": (about.name, about.labels, about.description, about.state, about.hparams, about.summary),
        "points": {key: (found.step, found.epoch, found.value) for key, found in points.items()},
        "output": b"".join(run.output()),
    }
