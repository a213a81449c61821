"""Imports of MLflow's runs that are interrupted, meet what cannot be read, or find what a former import left."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.client.test_import_mlflow import AT, RUN_TABLES, write_run, write_tree
from tests.support.world import World, make_world

from danlu.client import Client
from danlu.client.http import Http
from danlu.client.tracking.mlflow import import_mlflow
from danlu.errors import InvalidInput, ServerUnreachable
from danlu.server.runs.reconcile import reconcile

A, B, C = "a" * 32, "b" * 32, "c" * 32


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


def tree_named(name: str, top: Path) -> Path:
    """A folder with the runs A and B, A is the parent of B."""
    made = write_tree(top)
    (made / "1" / "meta.yaml").write_text(f"experiment_id: '1'\nname: {name}\nlifecycle_stage: active\n")
    return made


def door(client: Client, path: str, **body: Any) -> Any:
    headers = {"Authorization": f"Bearer {client.settings.api_key}"}
    answer = httpx.post(f"{client.url}/compat/mlflow/api/2.0/mlflow/{path}", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


class _Cut(Http):
    """Loses the server after a request of the second run that is created."""

    def __init__(self, client: Client, at: str) -> None:
        super().__init__(client.settings.url, client.settings.credentials)
        self._at, self._num_created = at, 0

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        answer = super().send(method, path, **more)
        self._num_created += path.endswith("runs/create")
        if self._num_created == 2 and path.endswith(self._at):
            raise ServerUnreachable("gone")
        return answer


@pytest.mark.parametrize(
    ("at", "minutes"), [("runs/create", 0), ("runs/create", 10), ("runs/log-batch", 0), ("runs/update", 10)]
)
def test_an_import_that_broke_goes_on_and_leaves_no_half_of_a_run(
    client: Client, world: World, tmp_path: Path, at: str, minutes: int
) -> None:
    name = f"cut-{at.rpartition('/')[2]}-{minutes}"
    top = tree_named(name, tmp_path)
    with closing(_Cut(client, at)) as http, pytest.raises(ServerUnreachable, match="gone"):
        import_mlflow(http, str(top))
    assert len(client.runs.list(folder=name)) == 2
    reconcile(world.state.database, datetime.now(timezone.utc) + timedelta(minutes=minutes))
    found = client.runs.import_mlflow(top)
    assert (list(found.runs), found.num_known, found.problems) == ([B], 1, [])
    runs = {run.name: run for run in client.runs.list(folder=name)}
    assert {run: (runs[run].state, runs[run].parent) for run in runs} == {
        "first": ("finished", None),
        "inner": ("finished", runs["first"].id),
    }
    assert client.runs.import_mlflow(top).num_known == 2


def test_a_run_that_was_resumed_after_its_import_stays(client: Client, tmp_path: Path) -> None:
    top = tree_named("resumed", tmp_path)
    found = client.runs.import_mlflow(top)
    door(client, "runs/update", run_id=found.runs[A], status="RUNNING")
    again = client.runs.import_mlflow(top)
    assert (again.runs, again.num_known, again.problems) == ({}, 2, [])
    states = {run.id: run.state for run in client.runs.list(folder="resumed")}
    assert states == {found.runs[A]: "running", found.runs[B]: "finished"}


def test_a_parent_that_failed_is_named_and_connected_by_a_later_import(client: Client, tmp_path: Path) -> None:
    top = tree_named("orphans", tmp_path)
    meta = top / "1" / A / "meta.yaml"
    whole = meta.read_text()
    meta.write_text("")
    found = client.runs.import_mlflow(top)
    assert list(found.runs) == [B]
    assert found.problems[0] == f"{B}: its parent {A!r} is not here; an import that finds it connects them"
    assert client.runs.get(found.runs[B]).details.parent is None
    meta.write_text(whole)
    again = client.runs.import_mlflow(top)
    assert (list(again.runs), again.num_known, again.problems) == ([A], 1, [])
    assert client.runs.get(found.runs[B]).details.parent == again.runs[A]
    client.runs.import_mlflow(top)
    door(client, "runs/set-tag", run_id=found.runs[B], key="mlflow.parentRunId", value="run-of-somebody")
    assert client.runs.import_mlflow(top).num_known == 2
    assert client.runs.get(found.runs[B]).details.parent is None  # connected once, not each time


def test_a_file_whose_name_is_refused_keeps_no_other_back(client: Client, tmp_path: Path) -> None:
    top = tree_named("names", tmp_path)
    folder = top / "1" / A / "artifacts"
    (folder / "z").write_text("after them")
    for name in ("C:\\tmp\\m.pkl", "line\nbreak", ".partial.x"):
        (folder / name).write_text("refused")
    long = folder / "/".join(["d" * 250] * 5)
    long.mkdir(parents=True)
    (long / "f").write_text("refused")
    found = client.runs.import_mlflow(top)
    assert (list(found.runs), found.num_files) == ([A, B], 3)
    assert [problem.partition(" is left out: ")[0] for problem in sorted(found.problems)] == [
        f"{A}: the file {name!r}"
        for name in (".partial.x", "C:\\tmp\\m.pkl", f"{'/'.join(['d' * 250] * 5)}/f"[:200], "line\nbreak")
    ]
    assert all("\n" not in problem for problem in found.problems)
    assert [run.state for run in client.runs.list(folder="names")] == ["finished"] * 2
    again = client.runs.import_mlflow(top)
    assert (again.runs, again.num_known) == ({}, 2)


def test_files_that_cannot_be_opened_are_named_and_the_rest_comes_in(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tree_named("locked", tmp_path)
    for folder in ("params", "tags", "metrics", "artifacts"):
        (top / "1" / A / folder / "locked").write_text(f"{AT} 1 0")
    opened = Path.open

    def refuse(path: Path, *args: Any, **more: Any) -> Any:
        if path.name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **more)

    monkeypatch.setattr(Path, "open", refuse)
    found = client.runs.import_mlflow(top)
    assert (list(found.runs), found.num_points, found.num_files) == ([A, B], 6, 2)
    assert found.problems[0].startswith(f"{A}: the file 'locked' is left out: ")
    assert [problem.partition(f"{A}/")[2] for problem in found.problems[1:]] == [
        f"{folder}/locked: Permission denied" for folder in ("tags", "params", "metrics")
    ]
    assert client.runs.import_mlflow(top).num_known == 2


def test_paths_that_the_system_refuses_keep_no_run_back(client: Client, tmp_path: Path) -> None:
    top = tree_named("deep", tmp_path)
    for folder in ("params", "metrics", "artifacts"):
        place = top / "1" / A / folder
        with chdir(place):
            while len(str(place)) < 4000:
                place = _below(place, "d" * 90)
            Path("f" * 200).write_text("x")  # longer than a path may be
    found = client.runs.import_mlflow(top)
    assert (list(found.runs), found.num_points, found.num_files) == ([A, B], 6, 2)
    assert len(found.problems) == 3
    assert sum("File name too long" in problem for problem in found.problems) >= 2


def _below(place: Path, name: str) -> Path:
    Path(name).mkdir()
    os.chdir(name)
    return place / name


def write_database(file: Path, name: str) -> None:
    """A database with three runs and 60 parameters of the second."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("PRAGMA page_size = 1024")
        database.executescript(RUN_TABLES)
        database.execute("UPDATE experiments SET name = ?", (name,))
        for number in range(3):
            database.execute(
                "INSERT INTO runs VALUES (?, '1', ?, 'FINISHED', ?, ?, 'files', 'active')",
                (f"{number}" * 32, f"run{number}", AT + number, AT + 10),
            )
        rows = [(f"p{number}", f"MARK{number}" * 30, "1" * 32) for number in range(60)]
        database.executemany("INSERT INTO params VALUES (?, ?, ?)", [("lr", "1", "0" * 32), *rows])
        database.executemany(
            "INSERT INTO metrics VALUES ('m', 1, 0, ?, 0, ?)", [(AT, f"{number}" * 32) for number in range(3)]
        )


def damage(file: Path, near: bytes) -> None:
    """Overwrite the page of a database that has these bytes."""
    data = bytearray(file.read_bytes())
    page = data.index(near) // 1024 * 1024
    data[page : page + 1024] = b"\xff" * 1024
    file.write_bytes(data)


def test_a_damaged_page_of_a_database_keeps_no_run_back(client: Client, tmp_path: Path) -> None:
    write_database(tmp_path / "mlflow.db", "damaged")
    damage(tmp_path / "mlflow.db", b"MARK40")
    found = client.runs.import_mlflow(tmp_path / "mlflow.db")
    assert (len(found.runs), found.num_points) == (3, 3)
    assert len(client.runs.get(found.runs["1" * 32]).details.hparams) > 10
    named = [f"{number * 32}: its parameters cannot be read to their end: " for number in "012"]
    assert [problem.startswith(start) for start, problem in zip(named, found.problems)] == [True] * 3


def test_the_runs_before_a_damaged_page_come_in(client: Client, tmp_path: Path) -> None:
    write_database(tmp_path / "mlflow.db", "damaged-runs")
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database, database:
        for number in range(40):
            database.execute(
                "INSERT INTO runs VALUES (?, '1', ?, 'FINISHED', ?, ?, 'files', 'active')",
                (f"x{number}", f"LATER{number}", AT + 100, AT + 110),
            )
    damage(tmp_path / "mlflow.db", b"LATER39")
    found = client.runs.import_mlflow(tmp_path / "mlflow.db")
    assert {"0" * 32, "1" * 32, "2" * 32} <= set(found.runs)
    assert f"the runs after the first {len(found.runs)} cannot be read" in found.problems[0]


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "setlimit"), reason="Python 3.11 limits cells")
@pytest.mark.parametrize("column", ["name", "run_uuid", "value"])
def test_a_cell_that_is_too_large_keeps_no_other_run_back(client: Client, tmp_path: Path, column: str) -> None:
    write_database(tmp_path / "mlflow.db", f"cell-{column}")
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database, database:
        table = "params" if column == "value" else "runs"
        database.execute(f"UPDATE {table} SET {column} = zeroblob({65 << 20}) WHERE run_uuid = ?", ("0" * 32,))
    found = client.runs.import_mlflow(tmp_path / "mlflow.db")
    assert set(found.runs) >= {"1" * 32, "2" * 32}
    assert "too big" in found.problems[0]
    assert len(client.runs.get(found.runs["2" * 32]).details.hparams) == 0


class _Faulty(BaseHTTPRequestHandler):
    """A server of MLflow with three experiments, one of which fails, and runs of which parts fail."""

    is_whole = False

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("experiments/search"):
            names = ("broken", "faulty", "")
            self._say(
                {
                    "experiments": [{"experiment_id": str(n), "name": name} for n, name in enumerate(names) if name]
                    + [{}, {"experiment_id": "3", "name": "odd"}]
                }
            )
        elif asked["experiment_ids"] == ["1"]:
            self._say({"runs": [self._run(name) for name in ("r1", "r2", "r3")]})
        elif asked["experiment_ids"] == ["3"]:
            self._say({"runs": 7})
        else:
            self._say({"error_code": "INTERNAL_ERROR"}, status=500)

    def _run(self, name: str) -> dict[str, Any]:
        info = {"run_id": name, "run_name": name, "artifact_uri": f"mlflow-artifacts:/{name}", "status": "FINISHED"}
        return {"info": info, "data": {"metrics": [{"key": "gone"}, {"key": "m"}]}}

    def do_GET(self) -> None:
        if "metric_key=gone" in self.path:
            self._say({}, status=500)
        elif "get-history" in self.path:
            self._say({"metrics": [{"value": 1, "timestamp": AT}]})
        elif "artifacts/list" in self.path:
            self._say({"files": [{"path": name} for name in ("gone", "file", "x" * 70_000)]})
        elif self.path.endswith("/gone"):
            self._say({}, status=404)
        elif self.path.endswith("r2/file") and not type(self).is_whole:
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"cut")
            self.close_connection = True
        else:
            self._say({"weights": 1})

    def _say(self, values: dict[str, Any], *, status: int = 200) -> None:
        data = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_what_a_server_does_not_hand_out_is_named_and_the_rest_comes_in(client: Client) -> None:
    with serving(_Faulty) as source:
        found = client.runs.import_mlflow(source)
        assert (list(found.runs), found.num_points, found.num_files) == (["r1", "r3"], 3, 2)
        told = "\n".join(found.problems)
        for part in (
            "r1: metric 'gone' cannot be read to its end: ",
            "r1: the file 'gone' is left out: ",
            "r1: the file 'xxx",
            "r2: http://127.0.0.1",
            "the runs of the experiment 'broken' cannot be read to their end: ",
        ):
            assert part in told
        _Faulty.is_whole = True
        again = client.runs.import_mlflow(source)
    assert (list(again.runs), again.num_known) == (["r2"], 2)
    assert [run.state for run in client.runs.list(folder="faulty")] == ["finished"] * 3


def test_an_address_that_is_none_is_refused(client: Client) -> None:
    with pytest.raises(InvalidInput, match="expected the address of a server, got 'http://"):
        client.runs.import_mlflow("http://[::1")


def test_a_run_whose_experiment_has_a_very_long_name_is_named(client: Client, tmp_path: Path) -> None:
    top = tree_named("x" * 70_000, tmp_path)
    write_run(top / "2", C, name="fine")
    (top / "2" / "meta.yaml").write_text("experiment_id: '2'\nname: beside\nlifecycle_stage: active\n")
    found = client.runs.import_mlflow(top)
    assert list(found.runs) == [C]
    assert [problem[:33] for problem in found.problems[:2]] == [f"{A}:", f"{B}:"]
