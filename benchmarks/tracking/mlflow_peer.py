"""The MLflow side of benchmarks/tracking.py. Runs in its own virtual environment; each command prints JSON.

fill DATABASE NUM_RUNS NUM_POINTS NUM_CURVES   insert runs directly into its tables, the newest with a long series
send URL NUM_POINTS BATCH REPEATS              log_batch; waits for a line on stdin before each repeat
list URL REPEATS                               seconds of search_runs, plain and filtered
series URL RUN REPEATS                         seconds of its own downsampled history
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
import urllib.parse
import urllib.request
import uuid


def fill(database: str, num_runs: int, num_points: int, num_curves: int) -> None:
    """Insert as many runs as in ours, with the same values; `num_curves` of them have a series of `num_points`."""
    now = int(time.time() * 1000)
    db = sqlite3.connect(database)
    db.execute("PRAGMA synchronous=OFF")
    names = {row[1] for row in db.execute("PRAGMA table_info(runs)")}
    ids = [uuid.uuid4().hex for _ in range(num_runs)]
    values = {
        "name": lambda number: f"run {number}",
        "source_type": lambda _: "LOCAL",
        "user_id": lambda _: "bench",
        "status": lambda _: "FINISHED",
        "start_time": lambda number: now + number,
        "end_time": lambda number: now + number,
        "lifecycle_stage": lambda _: "active",
        "artifact_uri": lambda _: "/tmp/none",
        "experiment_id": lambda _: 0,
    }
    columns = ["run_uuid", *(name for name in values if name in names)]
    marks = ",".join("?" * len(columns))
    db.executemany(
        f"INSERT INTO runs ({','.join(columns)}) VALUES ({marks})",
        [(ids[n], *(values[name](n) for name in columns[1:])) for n in range(num_runs)],
    )
    for table in ("metrics", "latest_metrics"):
        db.executemany(
            f"INSERT INTO {table} (key, value, timestamp, run_uuid, step, is_nan) VALUES (?,?,?,?,?,0)",
            [(key, value, now, ids[n], 1) for n in range(num_runs) for key, value in _metrics(n)],
        )
    # its page of runs expects tags that its own client writes
    tags = {"mlflow.runName": "run {}", "mlflow.user": "bench", "mlflow.source.type": "LOCAL"}
    db.executemany(
        "INSERT INTO tags (key, value, run_uuid) VALUES (?,?,?)",
        [(key, value.format(n), ids[n]) for n in range(num_runs) for key, value in tags.items()],
    )
    db.executemany(
        "INSERT INTO params (key, value, run_uuid) VALUES (?,?,?)",
        [("lr", str(10.0 ** -(n % 5)), ids[n]) for n in range(num_runs)]
        + [("optimizer", "adam" if n % 2 else "sgd", ids[n]) for n in range(num_runs)],
    )
    curves = ids[-num_curves:]
    for run in curves:
        db.executemany(
            "INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES ('long',?,?,?,?,0)",
            ((float(step * 7 % 1000), now + step, run, step) for step in range(num_points)),
        )
        db.execute(
            "INSERT INTO latest_metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES ('long',1,?,?,?,0)",
            (now + num_points, run, num_points - 1),
        )
    db.commit()
    db.execute("ANALYZE")
    db.commit()
    print(json.dumps({"run": curves[0], "curves": curves}))


def _metrics(number: int) -> list[tuple[str, float]]:
    return [("train_loss", 1.0 / (1 + number % 97)), ("val_acc", (number % 100) / 100), ("val_loss", number % 13 / 13)]


def send(url: str, num_points: int, batch: int, repeats: int) -> None:
    from mlflow.entities import Metric
    from mlflow.tracking import MlflowClient

    client = MlflowClient(url)
    for _ in range(repeats):
        run = client.create_run("0").info.run_id
        metrics = [
            Metric(f"m{place % 2}", float(place), 1_700_000_000_000 + place, place) for place in range(num_points)
        ]
        print("ready", flush=True)
        sys.stdin.readline()
        for first in range(0, num_points, batch):
            client.log_batch(run, metrics=metrics[first : first + batch])
        print(json.dumps({"ended": time.time()}), flush=True)


def list_runs(url: str, repeats: int) -> None:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(url)
    plain, filtered = [], []
    for _ in range(repeats):
        began = time.perf_counter()
        assert len(client.search_runs(["0"], max_results=100)) == 100
        plain.append(time.perf_counter() - began)
        began = time.perf_counter()
        found = client.search_runs(["0"], "metrics.val_acc > 0.5 and params.optimizer = 'adam'", max_results=100)
        assert len(found) == 100
        filtered.append(time.perf_counter() - began)
    print(json.dumps({"plain": plain, "filtered": filtered}))


def series(url: str, run: str, repeats: int) -> None:
    query = urllib.parse.urlencode({"run_ids": run, "metric_key": "long", "max_results": 2000})
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        path = f"{url}/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval?{query}"
        with urllib.request.urlopen(path) as answer:
            count = len(json.load(answer)["metrics"])
        taken.append(time.perf_counter() - began)
    print(json.dumps({"seconds": taken, "num_points": count}))


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    if command == "fill":
        fill(words[0], int(words[1]), int(words[2]), int(words[3]))
    elif command == "send":
        send(words[0], int(words[1]), int(words[2]), int(words[3]))
    elif command == "list":
        list_runs(words[0], int(words[1]))
    else:
        series(words[0], words[1], int(words[2]))
