"""Trees of `t9k.em` that somebody made up: one bad run is named and never stops the others, and nothing outside of the
tree is read or written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from danlu.client import Client
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until
from t9k import em
from t9k.em import files

RECORD = "- value: {{{}: {}}}\n  sequence: {{epoch: {}, step: {}, timestamp: {}}}\n"
GOOD = RECORD.format("good", 1, 1, 1, "'2024-01-01T00:00:00+00:00'")
MANY = [f"{'x' * 90}{at}: 1" for at in range(12_000)]
SECRET = "nothing for others"


@pytest.fixture(autouse=True)
def signed_in(server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    em.login(server.url, server.api_key)
    yield
    em.logout()


def made(name: str) -> Path:
    run = em.create_run(name=name)
    run.log("train", {"loss": 0.5}, step=1)
    run.finish()
    return Path(run.local)


def train(text: str) -> Callable[[Path], Any]:
    return lambda run: (run / "metrics" / "train.yaml").write_text(text)


def about(**fields: object) -> Callable[[Path], Any]:
    return lambda run: files.write(run / files.METADATA, {**files.read(run / files.METADATA), **fields})


def state(text: str) -> Callable[[Path], Any]:
    def write(run: Path) -> None:
        (run / ".danlu").mkdir()
        (run / ".danlu" / "imported.json").write_text(text)

    return write


def pipe(name: str) -> Callable[[Path], Any]:
    def make(run: Path) -> None:
        (run / name).unlink()
        os.mkfifo(run / name)

    return make


def link(name: str, target: str) -> Callable[[Path], Any]:
    def make(run: Path) -> None:
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(target)

    return make


TAKEN = {
    "labels": about(labels=5),
    "labels-large": about(labels=["a\0b", "x" * 2_000_000]),
    "remote": about(remote=5),
    "remote-items": about(remote=[5, "x", {"action": "download"}, {"action": "download", "id": "../../x"}]),
    "status": about(status=[1]),
    "name-large": about(name="n" * 2_000_000),
    "description": about(description="d" * 2_000_000),
    "associations": about(associations=5),
    "associations-items": about(associations={"input": [5, {"kind": "Artifact", "localDir": "/etc"}], "output": 7}),
    "before-1970": about(startTimestamp="1900-01-01T00:00:00"),
    "last-year": about(startTimestamp="9999-12-31T23:59:59", endTimestamp="0001-01-01T00:00:00"),
    "time": train(GOOD + RECORD.format("a", 1, 1, 2, "0001-01-01T00:00:00")),
    "metric-large": train(GOOD + RECORD.format(f"? {'n' * 1_200_000}\n    ", 1, 1, 2, "x")),
    "metrics-many": train(GOOD + RECORD.format(", ".join([*MANY, "last"]), 1, 1, 2, "x")),
    "platform": lambda run: (run / files.PLATFORM).write_text(f"a: {'p' * 2_000_000}\n"),
}
NAMED = {
    "step-large": train(GOOD + RECORD.format("a", 1, 1, 10**30, "x")),
    "step-nan": train(GOOD + RECORD.format("a", 1, 1, ".nan", "x")),
    "step-inf": train(GOOD + RECORD.format("a", 1, 1, ".inf", "x")),
    "epoch-text": train(GOOD + RECORD.format("a", 1, "abc", 2, "x")),
    "epoch-list": train(GOOD + RECORD.format("a", 1, "[1]", 2, "x")),
    "epoch-large": train(GOOD + RECORD.format("a", 1, 10**400, 2, "x")),
    "value-large": train(GOOD + RECORD.format("a", 10**400, 1, 2, "x")),
    "state-text": state("{"),
    "state-list": state("[1]"),
    "state-counts": state('{"metrics": {"train": -5}, "stdout": "q"}'),
    "pipe-metrics": pipe("metrics/train.yaml"),
    "pipe-hparams": pipe(files.HPARAMS),
    "pipe-index": pipe(files.INDEX),
    "pipe-stdout": pipe(files.STDOUT),
    "pipe-metadata": pipe(files.METADATA),
    "empty-metadata": lambda run: (run / files.METADATA).write_text(""),
    "link-stdout": link(files.STDOUT, "../../../secret"),
    "link-hparams": link(files.HPARAMS, "../../../secret"),
    "link-state": link(".danlu", "../../../outside"),
}


def empty(client: Client) -> set[str]:
    return {one.name for one in client.runs.list(folder="em-trees") if not one.metrics}


def test_a_bad_run_is_named_and_never_stops_the_others(client: Client, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"a: {SECRET}\n")
    (tmp_path / "outside").mkdir()
    for name, harm in {**TAKEN, **NAMED, "zzz-good": about()}.items():
        harm(made(name))
    with pytest.raises(RuntimeError) as told:
        em.upload(".em", folder="em-trees", make_folder=True)
    text = str(told.value)
    assert [name for name in NAMED if f"\n  {name}_" not in text] == []
    assert [name for name in (*TAKEN, "zzz-good") if f"\n  {name}_" in text] == []
    listed = {one.name: one for one in client.runs.list(folder="em-trees")}
    assert {*TAKEN, "zzz-good"} - {"name-large"} <= listed.keys()
    wait_until(lambda: empty(client) == {"pipe-metrics"})  # until searches find the rest
    assert SECRET not in text
    for one in listed.values():
        assert SECRET not in str(one.hparams)
        assert SECRET.encode() not in b"".join(client.runs.get(one.id).output())
    assert list((tmp_path / "outside").iterdir()) == []


def test_files_of_an_artifact_do_not_lead_out_of_it(client: Client, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    artifact = em.create_artifact(name="links")
    (Path(artifact.local) / "weights.pt").symlink_to(tmp_path / "secret")
    with pytest.raises(RuntimeError, match="or no regular file"):
        artifact.upload(folder="em-trees", make_folder=True)
    assert [one.name for one in client.artifacts.list() if one.name.endswith("links")] == []
