"""Runs: a table of ten thousand, and fifty with ten thousand points each in one chart, compared with MLflow's pages for
the same runs. Pages alternate, each in a new browser context.

The clock stops at the first frame in which the table has rows, or the chart is drawn, so the server's time is
included. Our own figures start when the page requests its data; those compared with MLflow start when the address is
opened, for both.
"""

from __future__ import annotations

import json
import math
import statistics
import time
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pages import PASSWORD, figure, sign_in
from playwright.sync_api import Browser
from tracking import NUM_RUNS, Mlflow, _request, fill

from danlu import journal
from danlu.testing.serving import RunningServer

NUM_COMPARED = 50
NUM_POINTS = 10_000

DRAWN = """rule => new Promise(resolve => {
  const [selector, least] = rule;
  const look = () => {
    if (document.querySelectorAll(selector).length < least) requestAnimationFrame(look);
    else requestAnimationFrame(now => resolve([now, now - window.asked]));
  };
  look();
})"""
CLOCK = """(() => {
  const real = window.fetch;
  window.fetch = (...given) => {
    const address = String(given[0]?.url ?? given[0]);
    if (window.asked === undefined && address.includes('TIMED')) window.asked = performance.now();
    return real(...given);
  };
})()"""


@dataclass
class Page:
    """A page to time."""

    name: str
    address: str
    drawn: tuple[str, int]
    """It is drawn when there are this many elements of this selector."""

    asks: str = ""
    """Part of the address that it fetches its data from."""

    opened_ms: list[float] = field(default_factory=list)
    asked_ms: list[float] = field(default_factory=list)


def measure_runs(browser: Browser, folder: Path, repeats: int, *, with_mlflow: bool) -> list[dict[str, Any]]:
    peer = Mlflow(folder / "mlflow") if with_mlflow else None
    server = RunningServer(folder / "runs").start()
    try:
        pages = our_pages(server, folder / "runs" / "server" / "danlu.db") + (their_pages(peer) if peer else [])
        for _ in range(repeats):
            for page in pages:
                look_at(page, browser, server.url)
    finally:
        server.stop()
        if peer is not None:
            peer.stop()
    return figures_of(pages)


def our_pages(server: RunningServer, database: Path) -> list[Page]:
    with server.client() as client:
        client.set_password(PASSWORD)
    server.stop()
    fill(database)
    server.start()
    compared = f"{server.url}/experiments/compare?runs={','.join(send_runs(server))}"
    chart = ('[role=img][aria-label*="50 lines"] canvas', 1)
    return [
        Page("table", f"{server.url}/experiments", (".table tbody tr", 6), "/api/v1/runs?"),
        Page("chart", compared, chart, "/api/v1/runs/points"),
    ]


def their_pages(peer: Mlflow) -> list[Page]:
    """MLflow's table shows the newest hundred runs; its chart has all fifty with all their points, like ours."""
    peer.stop()
    runs = peer.fill(NUM_RUNS, NUM_POINTS, NUM_COMPARED)["curves"]
    peer.start()
    lists = {"runs": runs, "metric": "long", "experiments": ["0"], "plot_metric_keys": ["long"]}
    words = urllib.parse.urlencode({name: json.dumps(value) for name, value in lists.items()})
    return [
        Page("mlflow's table", f"{peer.url}/#/experiments/0/runs", (".ag-center-cols-container .ag-row", 6)),
        Page("mlflow's chart", f"{peer.url}/#/metric?{words}", (".scatterlayer .trace .js-line", NUM_COMPARED)),
    ]


def figures_of(pages: list[Page]) -> list[dict[str, Any]]:
    opened = {page.name: statistics.median(page.opened_ms) for page in pages}
    asked = {page.name: statistics.median(page.asked_ms) for page in pages if page.asks}
    for page in pages:
        print(f"{page.name:<16} {', '.join(f'{value:.0f}' for value in page.opened_ms)} ms after it was opened")
    figures = [
        figure("10,000 runs: from the question to rows, ms", asked["table"], 500),
        figure("50 runs of 10,000 points: from the question to the chart, ms", asked["chart"], 500),
    ]
    if "mlflow's table" in opened:
        table, chart = (opened[f"mlflow's {name}"] / opened[name] for name in ("table", "chart"))
        figures += [
            figure("10,000 runs: table sooner than MLflow's, times", table, 1),
            figure("50 runs of 10,000 points: chart sooner than MLflow's, times", chart, 1),
        ]
    return figures


def send_runs(server: RunningServer) -> list[str]:
    """Send fifty runs of ten thousand points, in a client's format."""
    pack = journal.row_struct(1).pack
    made: list[str] = []
    for number in range(NUM_COMPARED):
        run, name = journal.new_run_id(), journal.new_journal_id()
        header = {"run": run, "name": f"curve {number}", "created_at": time.time(), "branch": 1, "writer": "process"}
        rows = [
            pack(step, 1.7e9 + step, 1.0, math.exp(-step / (500 + 50 * number)) + 0.1 * math.sin(step * (number + 1)))
            for step in range(NUM_POINTS)
        ]
        frames = [journal.encode_points(1, rows[at : at + 1000]) for at in range(0, NUM_POINTS, 1000)]
        layout = journal.encode_layout(journal.Layout(1, "train", ("loss",)))
        data = b"".join([journal.file_header(name), journal.encode_run(header), layout, *frames])
        _request(server, "POST", "/runs", json.dumps(header).encode())
        _request(server, "PUT", f"/runs/{run}/journals/{name}?offset=0", data)
        made.append(run)
    with server.client() as client:
        while any(client.runs.get(run).details.num_points < NUM_POINTS for run in made):
            time.sleep(0.1)
    return made


def look_at(page: Page, browser: Browser, url: str) -> None:
    """Open the page in a new browser context, and record the time until it was drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    if page.asks:
        sign_in(context, url)
    tab = context.new_page()
    tab.set_default_timeout(120_000)
    tab.add_init_script(CLOCK.replace("TIMED", page.asks))
    tab.goto(page.address, wait_until="commit")
    opened, asked = tab.evaluate(DRAWN, list(page.drawn))
    page.opened_ms.append(opened)
    page.asked_ms.append(asked)
    context.close()
