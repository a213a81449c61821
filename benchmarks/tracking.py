"""Speed of experiment tracking: in the script, at the server, and when users look at runs.

Compared in the same run with MLflow's HTTP server on SQLite and, for the script (tracking/log_speed.py), with W&B
offline and tensorboardX, in a separate virtual environment. Run nothing else meanwhile. The last line printed is
JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from danlu import journal
from danlu.client import Client
from danlu.store.metrics.ingest import put_values
from danlu.store.queries import runs as run_rows
from danlu.store.sql.database import Database, sqlite_url
from danlu.store.sql.run_tables import RunRow, RunValueRow, SeriesRow
from danlu.testing.serving import RunningServer

sys.path.insert(0, str(Path(__file__).parent / "tracking"))
sys.path.insert(0, str(Path(__file__).parent / "artifacts"))
from first_upload import measure_first_upload
from insertion import measure_insertion
from log_speed import measure_log_speed
from mlflow_server import Mlflow
from series_export import measure_export
from short_runs import measure_short_runs

HERE = Path(__file__).parent
NUM_RUNS = 10_000
NUM_LONG = 1_000_000
NUM_SHOWN = 2000
NUM_CLIENTS = 4
ARTIFACT_BYTES, SMALL_ARTIFACT_BYTES = 1 << 30, 256 << 20
"""A checkpoint; and one so small that the start of a process counts, which is reported and has no gate."""

METRICS = (("train", "loss"), ("val", "acc"), ("val", "loss"))


def main() -> None:
    options = _options()
    repeats = 3 if options.quick else 5
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-")) / "made"
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    has_peer = not (options.no_mlflow or options.short)
    figures = [] if options.uploads else measure_runs(folder, options, repeats=repeats, has_peer=has_peer)
    if has_peer or options.uploads:
        figures += measure_first_upload(folder, ARTIFACT_BYTES, repeats)
        figures += measure_first_upload(folder, SMALL_ARTIFACT_BYTES, repeats, has_gate=False)
    for figure in figures:
        print(f"{figure['name']:<52} {figure['value']:>14.3f}   gate {figure['gate']}   goal {figure['goal']}")
    print(json.dumps({"bench": "tracking", "figures": figures}))


def measure_runs(folder: Path, options: argparse.Namespace, *, repeats: int, has_peer: bool) -> list[dict[str, Any]]:
    folder.mkdir()
    peer = Mlflow(folder / "mlflow") if has_peer else None
    server = RunningServer(folder / "data").start()
    try:
        figures = measure_short_runs(server, quick=options.quick)
        figures += measure_export(server)
        figures += measure_insertion(server, folder, repeats=repeats)
        if not options.short:
            figures += measure_speed(server, peer, folder, options)
    finally:
        server.stop()
        if peer is not None:
            peer.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return figures


def measure_speed(
    server: RunningServer, peer: Mlflow | None, folder: Path, options: argparse.Namespace
) -> list[dict[str, Any]]:
    figures: list[dict[str, Any]] = [] if options.no_script else measure_log_speed(quick=options.quick)
    figures += measure_durable(server, peer, folder, repeats=3 if options.quick else 5, quick=options.quick)
    server.stop()
    fill(folder / "data" / "server" / "danlu.db")
    server.start()
    with server.client() as client:
        return figures + measure_looking(client, server, peer, repeats=10 if options.quick else 20)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--short", action="store_true", help="short runs, export and insertions only")
    parser.add_argument("--uploads", action="store_true", help="first uploads of artifacts beside MLflow only")
    parser.add_argument("--no-mlflow", action="store_true", help="leave MLflow out")
    parser.add_argument("--no-script", action="store_true", help="leave out what happens in the script")
    return parser.parse_args()


def measure_durable(
    server: RunningServer, peer: Mlflow | None, folder: Path, *, repeats: int, quick: bool
) -> list[dict[str, Any]]:
    """Points per second stored on the server's disk, from four clients at once."""
    num_ours, num_theirs = (500_000, 5_000) if quick else (1_000_000, 10_000)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(HERE / "tracking" / "send.py"), server.url, server.api_key, str(folder)]
    ours, counted = _rates([*command, str(num_ours), str(repeats)], num_ours, repeats, env=env, client=server.client())
    print(f"durable points/s: danlu {_spread(ours)}; counted and searchable {_spread(counted)}")
    figures = [
        figure("durable_points_per_second", statistics.median(ours), 50_000, 100_000),
        figure("searchable_points_per_second", statistics.median(counted), 50_000, 100_000),
    ]
    if peer is not None:
        theirs, _ = _rates(peer.command("send", peer.url, num_theirs, 1000, repeats), num_theirs, repeats)
        print(f"durable points/s: mlflow log_batch of 1000 {_spread(theirs)}")
        ratio = statistics.median(ours) / statistics.median(theirs)
        figures.append(figure("durable_points_times_mlflow", ratio, 20, 40))
        ratio = statistics.median(counted) / statistics.median(theirs)
        figures.append(figure("searchable_points_times_mlflow", ratio, 20, 40))
    return figures


def _rates(
    command: list[str],
    num_points: int,
    repeats: int,
    *,
    env: dict[str, str] | None = None,
    client: Client | None = None,
) -> tuple[list[float], list[float]]:
    """Per repeat: points per second until all are acknowledged, and until all are counted."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": env}
    senders = [subprocess.Popen(command, **pipes) for _ in range(NUM_CLIENTS)]  # type: ignore[call-overload]
    durable, counted = [], []
    for _ in range(repeats):
        for sender in senders:
            assert sender.stdout.readline().strip() == "ready"
        began = time.time()
        for sender in senders:
            sender.stdin.write("go\n")
            sender.stdin.flush()
        ended = [json.loads(sender.stdout.readline()) for sender in senders]
        durable.append(num_points * NUM_CLIENTS / (max(one["ended"] for one in ended) - began))
        if client is not None:
            for one in ended:
                while client.runs.get(one["run"]).details.num_points < num_points:
                    time.sleep(0.02)
            counted.append(num_points * NUM_CLIENTS / (time.time() - began))
    for sender in senders:
        sender.wait(timeout=60)
    return durable, counted


def fill(database_file: Path) -> None:
    """Insert 10,000 runs with three metrics and two hyperparameters each directly into our tables."""
    database = Database(sqlite_url(database_file))
    now = datetime.now(timezone.utc)
    with database.writing() as session:
        for number in range(NUM_RUNS):
            hparams = {"lr": 10.0 ** -(number % 5), "optimizer": "adam" if number % 2 else "sgd"}
            row = RunRow(
                id=journal.new_run_id(),
                project_id=1,
                owner_id=1,
                folder=f"sweep/{number % 20}",
                name=f"run {number}",
                state="finished",
                labels=[],
                hparams=hparams,
                summary={},
                info={},
                set_at={},
                created_at=now,
                started_at=now,
                ended_at=now,
                seen_at=now,
            )
            run_rows.add_run(session, row)
            put_values(session, row.number, "hparams", hparams)
            for (type_, name), value in zip(METRICS, _values(number), strict=True):
                session.add(
                    SeriesRow(
                        run=row.number, type=type_, name=name, num_points=1, step=1, last=value, low=value, high=value
                    )
                )
                key = f"metrics.{type_}.{name}"
                session.add(RunValueRow(run=row.number, key=key, num=value, low=value, high=value))
    database.close()


def _values(number: int) -> tuple[float, float, float]:
    return 1.0 / (1 + number % 97), (number % 100) / 100, number % 13 / 13


def measure_looking(
    client: Client, server: RunningServer, peer: Mlflow | None, *, repeats: int
) -> list[dict[str, Any]]:
    """A page of 10,000 runs, plain and filtered, and a series of a million points reduced to 2,000."""
    run = _send_long(client, server)
    plain = _times(repeats, lambda: len(list(client.runs.list(limit=100))), 100)
    text = "metrics.val.acc > 0.5 and hparams.optimizer = 'adam'"
    filtered = _times(repeats, lambda: len(list(client.runs.list(text, limit=100))), 100)
    rare = _times(
        repeats, lambda: len(list(client.runs.list("metrics.val.acc > 2 and hparams.lr < 0.1", limit=100))), 0
    )
    series = _times(
        repeats, lambda: client.runs.points([run], ["train/long"], max_points=NUM_SHOWN)[0].num_points, NUM_LONG
    )
    print(f"list of 100 of {NUM_RUNS}: {_spread(plain)}, filtered {_spread(filtered)}, none found {_spread(rare)}")
    print(f"{NUM_LONG} points as {NUM_SHOWN}: {_spread(series)}")
    listing = max(statistics.median(plain), statistics.median(filtered), statistics.median(rare))
    figures = [
        figure("list_and_filter_10000_runs_seconds", listing, 0.1, 0.1),
        figure("million_points_as_2000_seconds", statistics.median(series), 0.1, 0.1),
    ]
    if peer is not None:
        peer.stop()
        long_run = str(peer.fill(NUM_RUNS, NUM_LONG)["run"])
        peer.start()
        theirs = peer.ask("list", peer.url, max(3, repeats // 3))
        history = peer.ask("series", peer.url, long_run, 3)
        print(f"mlflow list: {_spread(theirs['plain'])}, filtered {_spread(theirs['filtered'])}")
        print(f"mlflow series as {history['num_points']} points: {_spread(history['seconds'])}")
        slower = max(statistics.median(theirs["plain"]), statistics.median(theirs["filtered"]))
        figures += [
            figure("list_and_filter_times_mlflow", slower / listing, 1, 1),
            figure(
                "million_points_times_mlflow", statistics.median(history["seconds"]) / statistics.median(series), 1, 1
            ),
        ]
    return figures


def _send_long(client: Client, server: RunningServer) -> str:
    """Send one run with a series of a million points, in a client's format."""
    run, name = journal.new_run_id(), journal.new_journal_id()
    header = {"run": run, "name": "long", "created_at": time.time(), "branch": 1, "writer": "process"}
    pack = journal.row_struct(1).pack
    rows = [pack(step, 1.7e9 + step, 1.0, float(step * 7 % 1000)) for step in range(NUM_LONG)]
    frames = [journal.encode_points(1, rows[at : at + 1000]) for at in range(0, NUM_LONG, 1000)]
    layout = journal.encode_layout(journal.Layout(1, "train", ("long",)))
    data = b"".join([journal.file_header(name), journal.encode_run(header), layout, *frames])
    _request(server, "POST", "/runs", json.dumps(header).encode())
    at = 0
    while at < len(data):
        end = journal.piece(data, at, 4 << 20)
        at = _request(server, "PUT", f"/runs/{run}/journals/{name}?offset={at}", data[at:end])["offset"]
    while client.runs.get(run).details.num_points < NUM_LONG:
        time.sleep(0.05)
    return run


def _request(server: RunningServer, method: str, path: str, body: bytes) -> Any:
    headers = {"Authorization": f"Bearer {server.api_key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.url}/api/v1{path}", data=body, method=method, headers=headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def _times(repeats: int, look: Any, expected: int) -> list[float]:
    taken = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        found = look()
        taken.append(time.perf_counter() - began)
        assert found == expected, (found, expected)
    return taken[1:]  # the first one is a warm-up


def _spread(values: list[float]) -> str:
    digits = 0 if statistics.median(values) > 1000 else 4
    low, middle, high = (f"{value:.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high}, n={len(values)})"


def figure(name: str, value: float, gate: float, goal: float) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}


if __name__ == "__main__":
    main()
