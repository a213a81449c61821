"""Runs in the console, in Chromium: a table of ten thousand, and fifty of them with ten thousand points each in one
chart. Each figure is the median of five (three with --quick). The last line printed is JSON.

The clock is the page's own. It starts when the page asks for its data, and stops in the first frame in which the table
has rows, or the chart has been drawn: what the server takes is counted in.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from tracking import NUM_RUNS, _request, figure, fill

from danlu import journal
from danlu.testing.serving import RunningServer

PASSWORD = "correct horse"
NUM_COMPARED = 50
NUM_POINTS = 10_000
ARGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")

TABLE = """() => new Promise(resolve => {
  const look = now => {
    if (document.querySelectorAll('.table tbody tr').length > 5) resolve(now - window.asked);
    else requestAnimationFrame(look);
  };
  look(performance.now());
})"""
CHART = """() => new Promise(resolve => {
  const look = now => {
    const chart = document.querySelector('[role=img][aria-label*="50 lines"] canvas');
    if (chart) requestAnimationFrame(drawn => resolve(drawn - window.asked));
    else requestAnimationFrame(look);
  };
  look(performance.now());
})"""
CLOCK = """(() => {
  const real = window.fetch;
  window.fetch = (...given) => {
    const address = String(given[0]?.url ?? given[0]);
    const timed = window.sessionStorage.getItem('timed');
    if (window.asked === undefined && address.includes(timed)) window.asked = performance.now();
    return real(...given);
  };
})()"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats")
    repeats = 3 if parser.parse_args().quick else 5
    chromium = shutil.which("chromium") or sys.exit("Chromium is not installed: scripts/system-packages.sh tests")
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    server = RunningServer(folder / "data").start()
    try:
        with server.client() as client:
            client.set_password(PASSWORD)
        server.stop()
        fill(folder / "data" / "server" / "danlu.db")
        server.start()
        runs = send_runs(server)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGS))
            table = times(browser, server.url, "/experiments", "/api/v1/runs?", TABLE, repeats)
            address = f"/experiments/compare?runs={','.join(runs)}"
            chart = times(browser, server.url, address, "/api/v1/runs/points", CHART, repeats)
            browser.close()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    figures = [
        figure(f"table_of_{NUM_RUNS}_runs_ms", statistics.median(table), 500, 500),
        figure(f"chart_of_{NUM_COMPARED}_runs_of_{NUM_POINTS}_points_ms", statistics.median(chart), 500, 500),
    ]
    for one in figures:
        print(f"{one['name']:<52} {one['value']:>10.1f}   gate {one['gate']}   goal {one['goal']}")
    print(json.dumps({"bench": "console_runs", "figures": figures}))


def send_runs(server: RunningServer) -> list[str]:
    """Fifty runs of ten thousand points, sent as a client sends them."""
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


def times(browser: Browser, url: str, path: str, asked: str, until: str, repeats: int) -> list[float]:
    """Milliseconds from the question to the picture, each in a browser that nobody used before."""
    found: list[float] = []
    for _ in range(repeats):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(f"{url}/signin")
        page.evaluate("name => sessionStorage.setItem('timed', name)", asked)
        answer: Any = page.evaluate(
            "body => fetch('/api/v1/session', {method: 'POST', body, headers: {'Content-Type': 'application/json'}})"
            ".then(answer => answer.status)",
            json.dumps({"name": "admin", "password": PASSWORD}),
        )
        assert answer == 200, answer
        page.add_init_script(CLOCK)
        page.goto(f"{url}{path}", wait_until="commit")
        found.append(float(page.evaluate(until)))
        context.close()
    print(f"{path[:40]}: {', '.join(f'{value:.0f}' for value in found)} ms")
    return found


if __name__ == "__main__":
    main()
