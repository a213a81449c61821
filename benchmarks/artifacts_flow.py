"""Speed of lineage queries: 10,000 artifacts, 100,000 edges, depth 5, over HTTP.

On SQLite and, if installed, on PostgreSQL. Run nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sqlalchemy import insert, text

from danlu.client import Client
from danlu.spec.flow import NodeKind, NodeRef, Relation
from danlu.store.queries import flow
from danlu.store.sql.database import Database, sqlite_url
from danlu.store.sql.flow_tables import FlowEdgeRow, FlowNodeRow
from danlu.testing.postgres import find_binaries, running_postgres
from danlu.testing.serving import RunningServer

NUM_ARTIFACTS, NUM_RUNS, NUM_EDGES = 10_000, 5_000, 100_000
NUM_INPUTS = NUM_OUTPUTS = NUM_EDGES // NUM_RUNS // 2
PAGES = (200, 1000)
DEPTH = 5
BATCH = 5000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer nodes are asked for")
    options = parser.parse_args()
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    figures = measure_flow(quick=options.quick)
    for figure in figures:
        print(f"{figure['name']:<52} {figure['value']:>10.2f}   gate {figure['gate']}   goal {figure['goal']}")
    print(json.dumps({"bench": "artifacts_flow", "figures": figures}))


def measure_flow(*, quick: bool) -> list[dict[str, Any]]:
    """Milliseconds of a whole request, as seen by a client."""
    figures = []
    for kind in ("sqlite", *(["postgresql"] if find_binaries() is not None else [])):
        with _served(kind) as (server, url):
            began = time.perf_counter()
            fill(url)
            seconds = time.perf_counter() - began
            print(f"{kind}: {NUM_ARTIFACTS + NUM_RUNS + 1} nodes and {NUM_EDGES} edges in {seconds:.1f} s")
            server.start()
            with server.client() as client:
                figures += _measure(client, kind, num_asked=30 if quick else 100)
            server.stop()
            figures.append(_measure_connect(url, kind))
    return figures


def fill(url: str) -> None:
    """Create runs in sequence: each reads earlier artifacts, and one data set that all of them read."""
    chance = random.Random(7)
    now = datetime.now(timezone.utc)
    names = [("artifact", _id("art", number)) for number in range(NUM_ARTIFACTS)]
    names += [("run", _id("run", number)) for number in range(NUM_RUNS)] + [("store", "main/data/")]
    nodes = [
        {"number": number, "kind": kind, "key": key, "project_id": 1, "label": f"{kind} {key}", "created_at": now}
        for number, (kind, key) in enumerate(names, start=1)
    ]
    edges: set[tuple[int, int, str]] = set()
    for run in range(NUM_RUNS):
        number = NUM_ARTIFACTS + run + 1
        num_made = max(NUM_INPUTS, run * NUM_ARTIFACTS // NUM_RUNS)
        read = chance.sample(range(min(num_made, NUM_ARTIFACTS)), NUM_INPUTS - 1)
        written = {(num_made + step) % NUM_ARTIFACTS for step in chance.sample(range(5 * NUM_OUTPUTS), NUM_OUTPUTS)}
        edges |= {(source + 1, number, Relation.INPUT.value) for source in read}
        edges.add((len(names), number, Relation.DATA.value))
        edges |= {(number, target + 1, Relation.OUTPUT.value) for target in written}
    rows = [
        {"source": source, "target": target, "relation": relation, "created_at": now}
        for source, target, relation in sorted(edges)
    ]
    assert len(rows) == NUM_EDGES, len(rows)
    database = Database(url)
    with database.writing() as session:
        for table, values in ((FlowNodeRow, nodes), (FlowEdgeRow, rows)):
            for first in range(0, len(values), BATCH):
                session.execute(insert(table), values[first : first + BATCH])
        if not database.is_sqlite:
            session.execute(text("SELECT setval(pg_get_serial_sequence('flow_nodes', 'number'), 1000000)"))
    if not database.is_sqlite:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ANALYZE flow_nodes"))
            connection.execute(text("ANALYZE flow_edges"))
    database.close()


def _measure(client: Client, kind: str, *, num_asked: int) -> list[dict[str, Any]]:
    chance = random.Random(11)
    asked = [f"artifact:{_id('art', chance.randrange(NUM_ARTIFACTS))}" for _ in range(num_asked)]
    asked = [name for name in asked if _is_there(client, name)]
    figures = []
    for size in PAGES:
        times, counts = [], []
        for name in asked:
            began = time.perf_counter()
            found = _page(client, name, size)
            times.append((time.perf_counter() - began) * 1000)
            counts.append((len(found["nodes"]), len(found["edges"])))
        nodes, edges = (statistics.median(count[place] for count in counts) for place in (0, 1))
        print(f"{kind}: pages of {size}: {_spread(times)} ms; {nodes:.0f} nodes and {edges:.0f} edges in the median")
        figures.append(_figure(f"flow_{kind}_page_of_{size}_p95_ms", _p95(times), 100, 50))
    hub = [_timed(lambda: _page(client, "store://main/data/", PAGES[0])) for _ in range(num_asked)]
    print(f"{kind}: a data set that {NUM_RUNS} runs read, pages of {PAGES[0]}: {_spread(hub)} ms")
    figures.append(_figure(f"flow_{kind}_hub_p95_ms", _p95(hub), 100, 50))
    began = time.perf_counter()
    whole = client.flow(asked[0], depth=DEPTH, max_nodes=100_000)
    seconds = time.perf_counter() - began
    print(f"{kind}: all pages of {asked[0]}: {len(whole.nodes)} nodes and {len(whole.edges)} edges in {seconds:.2f} s")
    return figures


def _measure_connect(url: str, kind: str) -> dict[str, Any]:
    """Rate of adding edges, each with its own lookup, 100 in a transaction."""
    database, now = Database(url), datetime.now(timezone.utc)
    began, num_edges = time.perf_counter(), 0
    for step in range(10):
        with database.writing() as session:
            for number in range(100):
                here, there = (
                    NodeRef(NodeKind.RUN, _id("run", step)),
                    NodeRef(NodeKind.ARTIFACT, f"new-{step}-{number}"),
                )
                flow.node(session, there, project_id=1, label=there.key, at=now)
                flow.connect(session, here, there, Relation.OUTPUT, now)
                num_edges += 1
    rate = num_edges / (time.perf_counter() - began)
    database.close()
    return _figure(f"flow_{kind}_edges_noted_per_second", rate, None, None)


def _id(kind: str, number: int) -> str:
    """Return an id in the format of clients."""
    return f"{kind}-{base64.b32encode(number.to_bytes(16, 'big')).decode().rstrip('=').lower()}"


def _page(client: Client, name: str, size: int) -> Any:
    query = {"node": name, "depth": DEPTH, "limit": size}
    return json.loads(client._http.send("GET", "/flow", query=query).content)


def _is_there(client: Client, name: str) -> bool:
    return len(_page(client, name, 2)["nodes"]) > 1


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} (p95 {_p95(values):.1f}, at most {max(values):.1f})"


def _figure(name: str, value: float, gate: float | None, goal: float | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 3), "gate": gate, "goal": goal}


@contextmanager
def _served(kind: str) -> Iterator[tuple[RunningServer, str]]:
    """Yield a server that was started once, so that its tables exist, and the URL of its database."""
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
    try:
        server = RunningServer(folder / "data")
        if kind == "sqlite":
            server.start()
            server.stop()
            yield server, sqlite_url(folder / "data" / "server" / "danlu.db")
            return
        with running_postgres() as postgres:
            url = postgres.make()
            server.env = {"DANLU_SERVER_DATABASE_URL": url}
            server.start()
            server.stop()
            yield server, url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
