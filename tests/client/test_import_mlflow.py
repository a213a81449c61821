"""Runs of MLflow are brought here from a folder, a SQLite file and a server, in the layouts that MLflow documents."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.world import World, make_world

from danlu.client import Client
from danlu.client.tracking.mlflow import Imported
from danlu.errors import InvalidInput

AT = 1_700_000_000_000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with make_world(tmp_path_factory.mktemp("import") / "data") as made:
        made.add_user("mia", "mine")
        yield made


@pytest.fixture(scope="module")
def url(world: World) -> Iterator[str]:
    with world.serving() as served:
        yield served


@pytest.fixture
def client(world: World, url: str) -> Iterator[Client]:
    with Client(url=url, api_key=world.api_key()) as made:
        yield made


def write_run(folder: Path, run_id: str, *, name: str, parent: str = "", meta: str = "") -> Path:
    top = folder / run_id
    files = {
        "meta.yaml": meta
        or f"run_id: {run_id}\nrun_name: {name}\nstatus: 3\nlifecycle_stage: active\n"
        f"start_time: {AT}\nend_time: {AT + 5000}\n",
        "params/lr": "0.01",
        "params/text": "two\nlines",
        "tags/team": "vision",
        "tags/mlflow.runName": name,
        "metrics/val/acc": f"{AT} 0.1 0\n{AT + 1000} 0.2 1\n{AT + 2000} nan 2\n",
        "artifacts/model/w.bin": "weights",
        **({"tags/mlflow.parentRunId": parent} if parent else {}),
    }
    for path, text in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    return top


def write_tree(top: Path) -> Path:
    experiment = top / "mlruns" / "1"
    experiment.mkdir(parents=True)
    (experiment / "meta.yaml").write_text("experiment_id: '1'\nname: vision\nlifecycle_stage: active\n")
    write_run(experiment, "a" * 32, name="first")
    write_run(experiment, "b" * 32, name="inner", parent="a" * 32)
    return top / "mlruns"


def check(client: Client, found: Imported, folder: str) -> None:
    listed = {run.name: run for run in client.runs.list(folder=folder)}
    assert set(listed) == {"first", "inner"}
    run = client.runs.get(listed["first"].id)
    assert run.details.hparams == {"lr": 0.01, "text": "two\nlines"}
    assert run.details.state == "finished"
    assert run.details.started_at.timestamp() * 1000 == AT
    assert run.details.ended_at is not None
    assert run.details.ended_at.timestamp() * 1000 == AT + 5000
    points = run.points("val/acc")
    assert (points.step, points.value) == ([0, 1, 2], [0.1, 0.2, None])
    assert points.time == [AT / 1000, AT / 1000 + 1, AT / 1000 + 2]
    files = client.store.list(f"store://main/mlflow/runs/{run.id}/")
    assert [(file.key.rpartition(f"{run.id}/")[2], file.size) for file in files] == [("model/w.bin", 7)]
    assert (len(found.runs), found.num_points, found.num_files) == (2, 6, 2)


def test_a_folder_comes_in_with_everything_and_only_once(client: Client, tmp_path: Path) -> None:
    top = write_tree(tmp_path)
    found = client.runs.import_mlflow(top)
    assert found.problems == []
    check(client, found, "vision")
    again = client.runs.import_mlflow(tmp_path)
    assert (again.runs, again.num_known) == ({}, 2)


def test_what_cannot_be_read_is_named_and_the_rest_comes_in(client: Client, tmp_path: Path) -> None:
    top = write_tree(tmp_path)
    (top / "1" / "meta.yaml").write_text("experiment_id: '1'\nname: hostile\nlifecycle_stage: active\n")
    write_run(top / "1", "c" * 32, name="bad", meta="!!python/object/apply:os.system ['false']\n")
    (top / "1" / ("a" * 32) / "metrics" / "cut").write_text(f"{AT} 1.0 0\n{AT} 2")
    (top / "1" / ("a" * 32) / "artifacts" / "link").symlink_to("/etc/passwd")
    found = client.runs.import_mlflow(top)
    assert sorted(run.name for run in client.runs.list(folder="hostile")) == ["first", "inner"]
    assert len(found.problems) == 1
    assert "meta.yaml" in found.problems[0]
    assert found.num_files == 2  # not what the link leads to
    assert found.num_points == 8


def test_a_database_comes_in(client: Client, tmp_path: Path) -> None:
    top = write_tree(tmp_path)
    file = tmp_path / "mlflow.db"
    database = sqlite3.connect(file)
    database.executescript(
        f"""
        CREATE TABLE experiments (experiment_id INTEGER, name TEXT, lifecycle_stage TEXT);
        CREATE TABLE runs (run_uuid TEXT, name TEXT, experiment_id INTEGER, status TEXT, start_time INTEGER,
            end_time INTEGER, lifecycle_stage TEXT, artifact_uri TEXT);
        CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
        CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
        CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, is_nan INTEGER);
        INSERT INTO experiments VALUES (1, 'from-db', 'active'), (2, 'gone', 'deleted');
        INSERT INTO runs VALUES
            ('x1', 'first', 1, 'FINISHED', {AT}, {AT + 5000}, 'active', '{top}/1/{"a" * 32}/artifacts'),
            ('x2', 'inner', 1, 'FINISHED', {AT + 1}, {AT + 5000}, 'active', 'file://{top}/1/{"b" * 32}/artifacts'),
            ('x3', 'deleted', 1, 'FINISHED', 0, 0, 'deleted', ''), ('x4', 'gone', 2, 'FINISHED', 0, 0, 'active', '');
        INSERT INTO tags VALUES ('mlflow.parentRunId', 'x1', 'x2');
        """
    )
    for run in ("x1", "x2"):
        database.executemany("INSERT INTO params VALUES (?, ?, ?)", [("lr", "0.01", run), ("text", "two\nlines", run)])
        rows = [
            ("val/acc", value, AT + 1000 * step, run, step, step == 2) for step, value in enumerate((0.1, 0.2, 0.0))
        ]
        database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
    database.commit()
    database.close()
    check(client, client.runs.import_mlflow(f"sqlite:///{file}"), "from-db")


def test_a_server_comes_in(
    client: Client, world: World, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The door is a server of MLflow as well: runs go from one project to another."""
    client.runs.import_mlflow(write_tree(tmp_path))
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", world.api_key())
    with Client(url=url, api_key=world.api_key(world.identity("mia"))) as mine:
        found = mine.runs.import_mlflow(f"{url}/compat/mlflow", experiment="vision", project="mine")
        assert found.problems == []
        assert (len(found.runs), found.num_points, found.num_files) == (2, 6, 2)
        inner = next(run for run in mine.runs.list(folder="vision") if run.name == "inner" and run.project == "mine")
        first = next(run for run in mine.runs.list(folder="vision") if run.name == "first" and run.project == "mine")
        tagged = mine.runs.import_mlflow(f"{url}/compat/mlflow", experiment="vision", project="mine")
        assert tagged.num_known == 2
    assert inner.id != first.id


@pytest.mark.parametrize("source", ["nothing-here", "/etc", "/etc/hostname"])
def test_what_has_no_runs_is_refused(client: Client, source: str) -> None:
    with pytest.raises(InvalidInput, match=r"expected a folder mlruns|not a database"):
        client.runs.import_mlflow(source)
