"""Runs of MLflow are brought here from a folder, a SQLite file and a server, in the layouts that MLflow documents."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.world import World, make_world

from danlu.client import Client
from danlu.client.tracking.mlflow import Imported
from danlu.errors import InvalidInput

AT = 1_700_000_000_000
RUN_TABLES = """
CREATE TABLE experiments (experiment_id TEXT, name TEXT, lifecycle_stage TEXT);
CREATE TABLE runs (run_uuid TEXT, experiment_id TEXT, name TEXT, status TEXT, start_time INTEGER, end_time INTEGER,
    artifact_uri TEXT, lifecycle_stage TEXT);
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE metrics (key TEXT, value REAL, is_nan INTEGER, timestamp INTEGER, step INTEGER, run_uuid TEXT);
INSERT INTO experiments VALUES ('1', 'octets', 'active');
"""


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
        f"start_time: {AT}\nend_time: {AT + 5000}\nuser_id: mia\n",
        "params/lr": "0.01",
        "params/text": "two\nlines",
        "tags/team": "vision",
        "tags/mlflow.runName": name,
        "metrics/val/acc": f"{AT} 0.1 0\n{AT + 1000} 0.2 1\n{AT + 2000} nan 2\n",
        "artifacts/model/w.bin": "weights",
        **({"tags/mlflow.parentRunId": parent} if parent else {}),
        "inputs/i1/meta.yaml": "source_type: 1\nsource_id: d1\ndestination_type: 2\ntags: {mlflow.data.context: fit}\n",
    }
    for path, text in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    return top


def write_tree(top: Path) -> Path:
    experiment = top / "mlruns" / "1"
    experiment.mkdir(parents=True)
    (experiment / "meta.yaml").write_text("experiment_id: '1'\nname: vision\nlifecycle_stage: active\n")
    (experiment / "tags").mkdir()
    (experiment / "tags" / "mlflow.note.content").write_text("all of vision")
    (experiment / "datasets" / "d1").mkdir(parents=True)
    (experiment / "datasets" / "d1" / "meta.yaml").write_text(
        "name: mnist\ndigest: c0ffee\nsource_type: local\nsource: '{}'\nprofile: '{\"rows\": 9}'\n"
    )
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
    assert client.runs.get(listed["inner"].id).details.parent == run.id
    door = f"{client.url}/compat/mlflow/api/2.0/mlflow"
    headers = {"Authorization": f"Bearer {client.settings.api_key}"}
    inner = httpx.get(f"{door}/runs/get", params={"run_id": listed["inner"].id}, headers=headers).json()["run"]
    assert {tag["key"]: tag["value"] for tag in inner["data"]["tags"]}["mlflow.parentRunId"] == run.id
    assert inner["info"]["user_id"] == "mia"
    ((dataset, tags),) = [(one["dataset"], one["tags"]) for one in inner["inputs"]["dataset_inputs"]]
    assert [dataset[name] for name in ("name", "digest", "source_type", "source", "profile")] == [
        *("mnist", "c0ffee", "local", "{}", '{"rows": 9}')
    ]
    assert tags == [{"key": "mlflow.data.context", "value": "fit"}]
    about = httpx.get(
        f"{door}/experiments/get", params={"experiment_id": inner["info"]["experiment_id"]}, headers=headers
    )
    told = {tag["key"]: tag["value"] for tag in about.json()["experiment"]["tags"]}
    assert told["mlflow.note.content"] == "all of vision"


def test_a_folder_comes_in_with_everything_and_only_once(client: Client, tmp_path: Path) -> None:
    top = write_tree(tmp_path)
    found = client.runs.import_mlflow(top)
    assert found.problems == []
    check(client, found, "vision")
    again = client.runs.import_mlflow(tmp_path)
    assert (again.runs, again.num_known) == ({}, 2)


def test_a_parent_may_come_after_its_runs(client: Client, tmp_path: Path) -> None:
    top = write_tree(tmp_path)
    (top / "1" / "meta.yaml").write_text("experiment_id: '1'\nname: order\nlifecycle_stage: active\n")
    for run in ("a", "b"):
        shutil.rmtree(top / "1" / (run * 32))
    write_run(top / "1", "c" * 32, name="inner", parent="d" * 32)
    write_run(top / "1", "d" * 32, name="first")
    found = client.runs.import_mlflow(top)
    runs = {run.name: run for run in client.runs.list(folder="order")}
    assert runs["inner"].parent == found.runs["d" * 32]
    assert client.runs.import_mlflow(top).num_known == 2


def test_what_cannot_be_read_is_named_and_the_rest_comes_in(client: Client, tmp_path: Path) -> None:
    top = write_tree(tmp_path)
    (top / "1" / "meta.yaml").write_text("experiment_id: '1'\nname: hostile\nlifecycle_stage: active\n")
    write_run(top / "1", "c" * 32, name="bad", meta="!!python/object/apply:os.system ['false']\n")
    (top / "1" / ("a" * 32) / "metrics" / "cut").write_text(f"{AT} 1.0 0\n{AT} 2")
    (top / "1" / ("a" * 32) / "artifacts" / "link").symlink_to("/etc/passwd")
    found = client.runs.import_mlflow(top)
    assert sorted(run.name for run in client.runs.list(folder="hostile")) == ["first", "inner"]
    assert len(found.problems) == 2
    assert ["'link' is left out" in found.problems[0], "meta.yaml" in found.problems[1]] == [True, True]
    assert found.num_files == 2  # not what the link leads to
    assert found.num_points == 8


def test_a_database_comes_in(client: Client, tmp_path: Path) -> None:
    top = write_tree(tmp_path)
    file = tmp_path / "mlflow.db"
    database = sqlite3.connect(file)
    database.executescript(
        f"""
        CREATE TABLE experiments (experiment_id INTEGER, name TEXT, lifecycle_stage TEXT);
        CREATE TABLE experiment_tags (key TEXT, value TEXT, experiment_id INTEGER);
        CREATE TABLE datasets (dataset_uuid TEXT, experiment_id INTEGER, name TEXT, digest TEXT,
            dataset_source_type TEXT, dataset_source TEXT, dataset_schema TEXT, dataset_profile TEXT);
        CREATE TABLE inputs (input_uuid TEXT, source_type TEXT, source_id TEXT, destination_type TEXT,
            destination_id TEXT, step INTEGER);
        CREATE TABLE input_tags (input_uuid TEXT, name TEXT, value TEXT);
        CREATE TABLE runs (run_uuid TEXT, user_id TEXT, name TEXT, experiment_id INTEGER, status TEXT,
            start_time INTEGER, end_time INTEGER, lifecycle_stage TEXT, artifact_uri TEXT);
        CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
        CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
        CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, is_nan INTEGER);
        INSERT INTO experiments VALUES (1, 'from-db', 'active'), (2, 'gone', 'deleted');
        INSERT INTO runs VALUES
            ('x1', 'mia', 'first', 1, 'FINISHED', {AT}, {AT + 5000}, 'active', '{top}/1/{"a" * 32}/artifacts'),
            ('x2', 'mia', 'inner', 1, 'FINISHED', {AT + 1}, {AT + 5000}, 'active',
                'file://{top}/1/{"b" * 32}/artifacts'),
            ('x3', '', 'deleted', 1, 'FINISHED', 0, 0, 'deleted', ''),
            ('x4', '', 'gone', 2, 'FINISHED', 0, 0, 'active', '');
        INSERT INTO tags VALUES ('mlflow.parentRunId', 'x1', 'x2');
        INSERT INTO experiment_tags VALUES ('mlflow.note.content', 'all of vision', 1);
        INSERT INTO datasets VALUES ('d1', 1, 'mnist', 'c0ffee', 'local', '{{}}', NULL, '{{"rows": 9}}');
        INSERT INTO inputs VALUES ('i1', 'DATASET', 'd1', 'RUN', 'x2', 0);
        INSERT INTO input_tags VALUES ('i1', 'mlflow.data.context', 'fit');
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


def test_long_texts_and_large_data_sets_keep_nothing_else_back(tmp_path: Path, client: Client) -> None:
    folder = write_tree(tmp_path) / "1"
    top = write_run(folder, "f" * 32, name="long")
    for number in range(60):
        (top / f"params/long{number}").write_text("长" * 6000)
    (top / "inputs/i2").mkdir()
    (top / "inputs/i2/meta.yaml").write_text("source_type: 1\nsource_id: large\ndestination_type: 2\ntags: {}\n")
    (folder / "datasets/large").mkdir(parents=True)
    quotes = '"' * 600_000  # twice as many bytes in JSON
    described = f"name: large\ndigest: '1'\nsource: x\nsource_type: local\nprofile: '{quotes}'\n"
    (folder / "datasets/large/meta.yaml").write_text(described)
    found = client.runs.import_mlflow(str(tmp_path))
    (run,) = (client.runs.get(new) for old, new in found.runs.items() if old == "f" * 32)
    assert len([key for key in run.details.hparams if key.startswith("long")]) == 60
    assert (run.details.state, run.details.num_points) == ("finished", 3)
    (problem,) = found.problems
    assert re.fullmatch("f{32}: a data set has 12[0-9]{5} bytes; 1000000 are the most", problem)


def test_a_hostile_database_harms_nothing_and_hides_nothing(client: Client, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "id_rsa").write_text("key")
    place = tmp_path / "given"
    place.mkdir()
    file = place / "mlflow.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(
            f"""
            CREATE TABLE experiments (experiment_id INTEGER, name TEXT, lifecycle_stage TEXT);
            CREATE TABLE runs (run_uuid TEXT, name TEXT, experiment_id INTEGER, status TEXT, start_time INTEGER,
                end_time INTEGER, lifecycle_stage TEXT, artifact_uri TEXT);
            CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
            CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
            CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, is_nan INTEGER);
            INSERT INTO experiments VALUES (1, 'hostile-db', 'active');
            INSERT INTO runs VALUES ('x1', 'bad', 1, 'DONE?', -5, 'soon', 'active', '{secret}'),
                ('x2', NULL, 1, NULL, {1 << 62}, NULL, 'active', 'file://{secret}'),
                ('x3', 'linked', 1, 'FINISHED', 1, 2, 'active', 'inside');
            INSERT INTO params VALUES ('a//b', 'x', 'x1'), ('good', '1', 'x1'), ('null', NULL, 'x1');
            INSERT INTO metrics VALUES ('m', 'text', 1, 'x1', 0, 0), ('m', 0.5, {1 << 62}, 'x1', {1 << 62}, 0),
                ('../up', 1, 1, 'x1', 0, 0), ('../up', 2, 1, 'x1', 1, 0),
                ('big', 1.7976931348623157e308, 1, 'x1', 0, 0);
            """
        )
        database.commit()
    (place / "inside").symlink_to(secret)
    found = client.runs.import_mlflow(file)
    assert (len(found.runs), found.num_points, found.num_files) == (3, 2, 0), found.problems
    told = "\n".join(found.problems)
    for part in ("params: 'a//b' is left out", "metrics: '../up' is left out", "'m' is no number", "outside of the"):
        assert part in told
    run = client.runs.get(found.runs["x1"])
    assert run.details.hparams == {"good": 1, "null": ""}
    assert {(one.name, one.last, one.odd) for one in run.series()} == {("m", 0.5, None), ("big", None, "inf")}
    (place / "mlflow.db").rename(place / "again.db")
    with closing(sqlite3.connect(place / "again.db")) as database:
        database.execute("UPDATE experiments SET name = 'mine'")
        database.commit()
    assert client.runs.import_mlflow(place / "again.db", follow_links=True).num_files == 3


def test_texts_that_are_no_utf8_keep_no_run_back(client: Client, tmp_path: Path) -> None:
    top = write_tree(tmp_path)
    (top / "1" / "meta.yaml").write_text('experiment_id: "1"\nname: "bytes\\uD800"\nlifecycle_stage: active\n')
    first, inner = top / "1" / ("a" * 32), top / "1" / ("b" * 32)
    for folder in ("artifacts", "params", "metrics"):
        Path(os.fsdecode(os.fsencode(first / folder) + b"/\xff")).write_text("1 1 1")
    inner_meta = (inner / "meta.yaml").read_text().replace("run_name: inner", 'run_name: "inner\\uD800"')
    (inner / "meta.yaml").write_text(inner_meta)
    found = client.runs.import_mlflow(top)
    assert [run.name for run in client.runs.list(folder="bytes?", sort="name")] == ["first", "inner?"]
    assert len(found.problems) == 2  # the metric and the parameter, whose names MLflow has no room for


def test_texts_of_a_database_that_are_no_utf8_keep_no_run_back(client: Client, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database, database:
        database.executescript(RUN_TABLES)
        for number, name in enumerate(("CAST(x'66ff' AS TEXT)", "'fine'")):
            database.execute(
                f"INSERT INTO runs VALUES (?, '1', {name}, 'FINISHED', ?, ?, 'file://[::1', 'active')",
                (f"{number}" * 32, AT, AT),
            )
        database.execute("INSERT INTO params VALUES ('lr', CAST(x'ff31' AS TEXT), ?)", ("0" * 32,))
    found = client.runs.import_mlflow(tmp_path / "mlflow.db")
    assert [run.name for run in client.runs.list(folder="octets", sort="name")] == ["fine", "f\ufffd"]
    assert ["cannot be read here" in one for one in found.problems] == [True, True]


def test_a_run_whose_file_says_nothing_is_named(client: Client, tmp_path: Path) -> None:
    top = write_tree(tmp_path)
    (top / "1" / "meta.yaml").write_text("experiment_id: '1'\nname: mute\nlifecycle_stage: active\n")
    (top / "1" / ("a" * 32) / "meta.yaml").write_text("")
    (top / "1" / ("b" * 32) / "meta.yaml").write_text("lifecycle_stage: active\n")
    write_run(top / "2", "c" * 32, name="alone")
    write_run(top / "1", "d" * 32, name="fine")
    os.mkfifo(top / "1" / ("d" * 32) / "params" / "pipe")
    found = client.runs.import_mlflow(top)
    assert list(found.runs) == ["d" * 32]
    named = (
        "/2: an experiment has a meta.yaml",
        "meta.yaml: it is no mapping",
        "it has no run_id",
        "params/pipe: it is",
    )
    assert [[name in one for name in named].index(True) for one in found.problems] == [0, 1, 2, 3]


def test_links_and_pipes_in_a_folder_are_named(client: Client, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "id_rsa").write_text("key")
    top = write_tree(tmp_path)
    (top / "1" / "meta.yaml").write_text("experiment_id: '1'\nname: links\nlifecycle_stage: active\n")
    (top / "1" / ("e" * 32)).symlink_to(write_run(tmp_path / "other", "e" * 32, name="elsewhere"))
    shutil.rmtree(top / "1" / ("a" * 32) / "artifacts")
    (top / "1" / ("a" * 32) / "artifacts").symlink_to(secret)
    (top / "1" / ("f" * 32)).mkdir()
    os.mkfifo(top / "1" / ("f" * 32) / "meta.yaml")
    found = client.runs.import_mlflow(top)
    assert sorted(run.name for run in client.runs.list(folder="links")) == ["first", "inner"]
    assert found.num_files == 1
    told = "\n".join(found.problems)
    assert (told.count("it is a link"), told.count("no regular file")) == (2, 1)


class _Endless(BaseHTTPRequestHandler):
    """A server that says whatever keeps a reader busy."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("experiments/search"):
            self._say({"experiments": [{"experiment_id": "1", "name": "endless"}, 7], "next_page_token": "again"})
        else:
            run = {
                "info": {"run_id": "r1", "artifact_uri": "mlflow-artifacts:/r1"},
                "data": {"metrics": [{"key": "m"}]},
            }
            self._say({"runs": [run, {"info": 3}, {}], "next_page_token": "again"})

    def do_GET(self) -> None:
        if "get-history" in self.path:
            self._say({"metrics": [{"value": "x"}, {"value": 1, "timestamp": 1 << 70}], "next_page_token": "again"})
        elif "artifacts/list" in self.path:
            names = ["", "../up", "/etc/passwd", "loop" if "path" not in self.path else "loop/loop"]
            self._say({"files": [{"path": name, "is_dir": True} for name in [*names, "loop"]]})

    def _say(self, values: dict[str, Any]) -> None:
        data = json.dumps(values).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_server_that_never_ends_is_left(client: Client) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endless)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        found = client.runs.import_mlflow(f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()
        server.server_close()
    assert list(found.runs) == ["r1"]
    assert found.num_points == 2
    told = "\n".join(found.problems)
    assert ("describes a run as none is" in told, "is no name of a file" in told) == (True, True)
