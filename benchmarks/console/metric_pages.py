"""A run of 200 metrics, and 50 runs in groups with bands: time from the request to the first charts drawn."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

from pages import PASSWORD, figure
from playwright.sync_api import Browser
from runs_pages import Page, look_at
from tracking import _request

from danlu import journal
from danlu.testing.serving import RunningServer

NUM_METRICS = 200
NUM_RUNS = 50
NUM_POINTS = 1_000


def measure_metrics(browser: Browser, folder: Path, repeats: int) -> list[dict[str, Any]]:
    server = RunningServer(folder / "metrics").start()
    try:
        with server.client() as client:
            client.set_password(PASSWORD)
        wide = send_run(server, "wide", [f"layer{number}/norm" for number in range(NUM_METRICS)], lr=0.1)
        grouped = [send_run(server, f"run {number}", ["loss"], lr=10.0 ** -(number % 5)) for number in range(NUM_RUNS)]
        wait_for_points(server, {wide: NUM_METRICS * NUM_POINTS, **dict.fromkeys(grouped, NUM_POINTS)})
        address = f"{server.url}/experiments/compare?runs={','.join(grouped)}&group=hparams.lr"
        pages = [
            Page("metrics", f"{server.url}/experiments/{wide}", (".chart canvas", 4), "/api/v1/runs/points"),
            Page("groups", address, ('[role=img][aria-label*="5 lines"] canvas', 1), "/api/v1/runs/points"),
        ]
        for _ in range(repeats):
            for page in pages:
                look_at(page, browser, server.url)
    finally:
        server.stop()
    first, bands = (sorted(page.asked_ms)[len(page.asked_ms) // 2] for page in pages)
    return [
        figure("a run of 200 metrics: from the question to the first charts, ms", first, 500),
        figure("50 runs in groups with bands: from the question to the chart, ms", bands, 500),
    ]


def send_run(server: RunningServer, name: str, metrics: list[str], *, lr: float) -> str:
    run, file = journal.new_run_id(), journal.new_journal_id()
    header = {
        "run": run,
        "name": name,
        "created_at": time.time(),
        "branch": 1,
        "writer": "process",
        "hparams": {"lr": lr},
    }
    pack = journal.row_struct(len(metrics)).pack
    rows = [
        pack(step, 1.7e9 + step, 1.0, *(math.exp(-step * lr / 100) + 0.01 * place for place in range(len(metrics))))
        for step in range(NUM_POINTS)
    ]
    frames = [journal.encode_points(1, rows[at : at + 100]) for at in range(0, NUM_POINTS, 100)]
    layout = journal.encode_layout(journal.Layout(1, "train", tuple(metrics)))
    data = b"".join([journal.file_header(file), journal.encode_run(header), layout, *frames])
    _request(server, "POST", "/runs", json.dumps(header).encode())
    _request(server, "PUT", f"/runs/{run}/journals/{file}?offset=0", data)
    return run


def wait_for_points(server: RunningServer, wanted: dict[str, int]) -> None:
    with server.client() as client:
        while any(client.runs.get(run).details.num_points < count for run, count in wanted.items()):
            time.sleep(0.1)
