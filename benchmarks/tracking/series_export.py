"""Duration of the export of a run with many series, which must grow only in proportion to them."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

from danlu import journal
from danlu.testing.serving import RunningServer

NUM_STEPS = 10
NAMES_AT_ONCE = 1000


def measure_export(server: RunningServer) -> list[dict[str, Any]]:
    taken = {}
    for count in (1_000, 10_000):
        run = _send(server, count)
        began = time.perf_counter()
        rows = _request(server, "GET", f"/runs/{run}/export?format=csv").count(b"\n") - 1
        taken[count] = time.perf_counter() - began
        assert rows == count * NUM_STEPS, (rows, count)
        print(f"export of {count} series: {taken[count]:.1f} s")
    growth = taken[10_000] / taken[1_000] / 10
    return [
        {"name": "export_10000_series_seconds", "value": round(taken[10_000], 2), "gate": None, "goal": None},
        {"name": "export_growth_by_linear", "value": round(growth, 3), "gate": 1.5, "goal": 1.1},
    ]


def _send(server: RunningServer, count: int) -> str:
    run, name = journal.new_run_id(), journal.new_journal_id()
    header = {"run": run, "name": f"{count} series", "created_at": time.time(), "branch": 1, "writer": "process"}
    pieces = [journal.file_header(name) + journal.encode_run(header)]
    for number in range(0, count, NAMES_AT_ONCE):
        names = tuple(f"layer{one}/norm" for one in range(number, number + NAMES_AT_ONCE))
        pack = journal.row_struct(len(names)).pack
        rows = [pack(step, time.time(), 1.0, *(float(step),) * len(names)) for step in range(NUM_STEPS)]
        layout = journal.Layout(number // NAMES_AT_ONCE + 1, "train", names)
        pieces += [journal.encode_layout(layout), journal.encode_points(layout.number, rows)]
    pieces.append(journal.encode_finish("finished", time=time.time()))
    _request(server, "POST", "/runs", json.dumps(header).encode())
    offset = 0
    for piece in pieces:
        answer = _request(server, "PUT", f"/runs/{run}/journals/{name}?offset={offset}", piece)
        offset = int(json.loads(answer)["offset"])
    while json.loads(_request(server, "GET", f"/runs/{run}"))["state"] == "running":
        time.sleep(0.05)
    return run


def _request(server: RunningServer, method: str, path: str, body: bytes | None = None) -> bytes:
    headers = {"Authorization": f"Bearer {server.api_key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.url}/api/v1{path}", data=body, method=method, headers=headers)
    with urllib.request.urlopen(request) as answer:
        return bytes(answer.read())
