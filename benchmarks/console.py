"""The console in Chromium: how much the first page weighs and how soon it can be used, a log of a million lines, and a
table of ten thousand jobs. Each figure is the median of five (three with --quick). The last line printed is JSON.

Times are what the page's own clock says. A frame's length is the time between two calls of requestAnimationFrame while
something happens; the longest counts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from danlu.client import Client
from danlu.testing.serving import RunningServer

PASSWORD = "correct horse"
NUM_LINES = 1_000_000
NUM_JOBS = 10_000
ARGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
FRAMES = """() => {
  window.longest = 0; window.watching = true; let before = performance.now();
  const look = now => { window.longest = Math.max(window.longest, now - before); before = now;
                        if (window.watching) requestAnimationFrame(look); };
  requestAnimationFrame(now => { before = now; requestAnimationFrame(look); });
}"""
LONGEST = "() => { window.watching = false; return window.longest; }"


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
            job = long_log(client)
        server.stop()
        fill(folder / "data" / "server" / "danlu.db", job)
        server.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGS))
            state = sign_in(browser, server.url)
            figures = [
                *first_page(browser, state, server.url, repeats),
                *million_lines(browser, state, f"{server.url}/jobs/{job}/logs", repeats),
                *many_jobs(browser, state, server.url, repeats),
            ]
            browser.close()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for one in figures:
        print(f"{one['name']:<52} {one['value']:>10.1f}   gate {one['gate']}   goal {one['goal']}")
    print(json.dumps({"bench": "console", "figures": figures}))


def long_log(client: Client) -> str:
    command = f"seq -f 'step %.0f loss 0.693147 accuracy 0.5 some words of a log' 1 {NUM_LINES}; echo the needle"
    job = client.jobs.submit(name="long-log", command=command)
    job.wait(timeout=300)
    return job.id


def fill(database: Path, job: str) -> None:
    """As many jobs that are over as a year brings, copies of one."""
    with sqlite3.connect(database) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(jobs)")]
        row = dict(zip(names, connection.execute("SELECT * FROM jobs WHERE id = ?", (job,)).fetchone(), strict=True))
        first = int(job.removeprefix("train-")) - NUM_JOBS
        states = ("succeeded", "failed", "stopped")
        rows = [
            tuple(
                {
                    **row,
                    "id": f"train-{first + number:018d}",
                    "name": f"copy-{number}",
                    "state": states[number % 3],
                    "request_id": None,
                }.values()
            )
            for number in range(NUM_JOBS)
        ]
        connection.executemany(f"INSERT INTO jobs VALUES ({','.join('?' * len(names))})", rows)


def sign_in(browser: Browser, url: str) -> Any:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{url}/signin")
    page.locator("input[name=name]").fill("admin")
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("button[type=submit]").click()
    page.wait_for_url(f"{url}/")
    state = context.storage_state()
    context.close()
    return state


def fresh_page(browser: Browser, state: Any) -> Page:
    """A page with an empty cache, signed in."""
    return browser.new_context(storage_state=state, viewport={"width": 1280, "height": 800}).new_page()


def first_page(browser: Browser, state: Any, url: str, repeats: int) -> list[dict[str, Any]]:
    seconds = []
    fetched: set[str] = set()
    for _ in range(repeats):
        page = fresh_page(browser, state)
        page.on("request", lambda request: fetched.add(request.url))
        page.goto(f"{url}/jobs", wait_until="commit")
        page.wait_for_function("() => document.querySelectorAll('tbody tr').length > 5")
        # drawn, and ready for a click: the next task of an idle page
        idle = "() => new Promise(done => requestIdleCallback(() => done(performance.now())))"
        seconds.append(page.evaluate(idle) / 1000)
        page.context.close()
    own = [one for one in fetched if "/api/" not in one]
    weight = sum(len_gzipped(one) for one in own) / 1024
    return [
        figure("first page, KB gzipped", weight, 400, 250),
        figure("first page can be used after, s", statistics.median(seconds), 1.5, 1.0),
    ]


def len_gzipped(address: str) -> int:
    with httpx.stream("GET", address, headers={"Accept-Encoding": "gzip"}) as answer:
        return sum(len(part) for part in answer.iter_raw())


def million_lines(browser: Browser, state: Any, address: str, repeats: int) -> list[dict[str, Any]]:
    page = fresh_page(browser, state)
    page.goto(address)
    page.get_by_text("step 1 loss").wait_for()
    box = page.get_by_role("region", name="Log of rank 0")
    scrolled, searched, found = [], [], []

    def scroll() -> None:
        box.hover()
        for _ in range(40):
            page.mouse.wheel(0, 2_000)
            time.sleep(0.02)
        for part in (0.25, 0.5, 0.75, 0.1, 1.0, 0.0):
            box.evaluate("(box, part) => { box.scrollTop = box.scrollHeight * part }", part)
            time.sleep(0.3)

    def search() -> None:
        page.get_by_label("Search the whole log").fill("the needle")
        page.get_by_role("button", name="Find").click()
        page.get_by_text("1 line matches").wait_for(timeout=60_000)

    for _ in range(repeats):
        scrolled.append(longest_frame(page, scroll))
        begun = time.monotonic()
        searched.append(longest_frame(page, search))
        found.append(time.monotonic() - begun)
        page.get_by_label("Search the whole log").fill("")
    page.context.close()
    return [
        figure("1,000,000 lines: longest frame, scrolling, ms", statistics.median(scrolled), 200, 50),
        figure("1,000,000 lines: longest frame, searching, ms", statistics.median(searched), 200, 50),
        figure("1,000,000 lines: the last line is found after, s", statistics.median(found), None, 2),
    ]


def longest_frame(page: Page, act: Callable[[], None]) -> float:
    page.evaluate(FRAMES)
    act()
    return float(page.evaluate(LONGEST))


def many_jobs(browser: Browser, state: Any, url: str, repeats: int) -> list[dict[str, Any]]:
    opened, complete, ordered = [], [], []
    for _ in range(repeats):
        page = fresh_page(browser, state)
        page.goto(f"{url}/profile")
        page.get_by_role("heading", name="Profile").wait_for()
        opened.append(between(page, "a[href='/jobs']", "copy-9999"))
        begun = time.monotonic()
        page.get_by_text(f"{NUM_JOBS + 1} jobs", exact=True).wait_for(timeout=60_000)
        complete.append(time.monotonic() - begun)
        page.get_by_role("button", name="Name", exact=True).click()  # up
        page.get_by_text("copy-0", exact=True).wait_for()
        ordered.append(between(page, "th[aria-sort] button", "long-log"))
        page.context.close()
    return [
        figure("10,000 jobs: from the click to rows, ms", statistics.median(opened), 500, 250),
        figure("10,000 jobs: all of them here after, s", statistics.median(complete), None, 2),
        figure("10,000 jobs: sorted by a column, ms", statistics.median(ordered), 500, 100),
    ]


def between(page: Page, clicked: str, shown: str) -> float:
    """Milliseconds from a click to the frame in which a text is on the page."""
    return float(
        page.evaluate(
            """([clicked, shown]) => new Promise(done => {
              const begun = performance.now();
              document.querySelector(clicked).click();
              const look = () => document.querySelector('tbody')?.innerText.includes(shown)
                ? done(performance.now() - begun) : requestAnimationFrame(look);
              look();
            })""",
            [clicked, shown],
        )
    )


def figure(name: str, value: float, gate: float | None, goal: float) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}


if __name__ == "__main__":
    main()
