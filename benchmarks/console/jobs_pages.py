"""The first page, a log of a million lines, and a table of ten thousand jobs.

Frame length is the time between two calls of requestAnimationFrame; the longest during an interaction counts.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from pages import PASSWORD, figure, sign_in
from playwright.sync_api import Browser, Page

from danlu.client import Client
from danlu.testing.serving import RunningServer

NUM_LINES = 1_000_000
NUM_JOBS = 10_000
FRAMES = """() => {
  window.longest = 0; window.watching = true; let before = performance.now();
  const look = now => { window.longest = Math.max(window.longest, now - before); before = now;
                        if (window.watching) requestAnimationFrame(look); };
  requestAnimationFrame(now => { before = now; requestAnimationFrame(look); });
}"""
LONGEST = "() => { window.watching = false; return window.longest; }"


def measure_jobs(browser: Browser, folder: Path, repeats: int) -> list[dict[str, Any]]:
    server = RunningServer(folder / "jobs").start()
    try:
        with server.client() as client:
            client.set_password(PASSWORD)
            job = long_log(client)
        server.stop()
        fill(folder / "jobs" / "server" / "danlu.db", job)
        server.start()
        return [
            *first_page(browser, server.url, repeats),
            *million_lines(browser, server.url, job, repeats),
            *many_jobs(browser, server.url, repeats),
        ]
    finally:
        server.stop()


def long_log(client: Client) -> str:
    command = f"seq -f 'step %.0f loss 0.693147 accuracy 0.5 some words of a log' 1 {NUM_LINES}; echo the needle"
    job = client.jobs.submit(name="long-log", command=command)
    job.wait(timeout=300)
    return job.id


def fill(database: Path, job: str) -> None:
    """Insert as many ended jobs as in a year, copies of one."""
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


def fresh_page(browser: Browser, url: str) -> Page:
    """Return a page with an empty cache, with the user logged in."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    sign_in(context, url)
    return context.new_page()


def first_page(browser: Browser, url: str, repeats: int) -> list[dict[str, Any]]:
    seconds = []
    fetched: set[str] = set()
    for _ in range(repeats):
        page = fresh_page(browser, url)
        page.on("request", lambda request: fetched.add(request.url))
        page.goto(f"{url}/jobs", wait_until="commit")
        page.wait_for_function("() => document.querySelectorAll('tbody tr').length > 5")
        # drawn and interactive: at the first idle moment of the page
        idle = "() => new Promise(done => requestIdleCallback(() => done(performance.now())))"
        seconds.append(page.evaluate(idle) / 1000)
        page.context.close()
    own = [one for one in fetched if "/api/" not in one]
    weight = sum(len_gzipped(one) for one in own) / 1024
    return [
        figure("first page, KB gzipped", weight, 300),
        figure("first page can be used after, s", statistics.median(seconds), 1.5),
    ]


def len_gzipped(address: str) -> int:
    with httpx.stream("GET", address, headers={"Accept-Encoding": "gzip"}) as answer:
        return sum(len(part) for part in answer.iter_raw())


def million_lines(browser: Browser, url: str, job: str, repeats: int) -> list[dict[str, Any]]:
    page = fresh_page(browser, url)
    page.goto(f"{url}/jobs/{job}/logs")
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
        page.get_by_label("Search the log").fill("the needle")
        page.get_by_role("button", name="Find").click()
        page.get_by_text("1 matching line").wait_for(timeout=60_000)

    for _ in range(repeats):
        scrolled.append(longest_frame(page, scroll))
        begun = time.monotonic()
        searched.append(longest_frame(page, search))
        found.append(time.monotonic() - begun)
        page.get_by_label("Search the log").fill("")
    page.context.close()
    return [
        figure("1,000,000 lines: longest frame, scrolling, ms", statistics.median(scrolled), 200),
        figure("1,000,000 lines: longest frame, searching, ms", statistics.median(searched), 200),
        figure("1,000,000 lines: the last line is found after, s", statistics.median(found), None),
    ]


def longest_frame(page: Page, act: Callable[[], None]) -> float:
    page.evaluate(FRAMES)
    act()
    return float(page.evaluate(LONGEST))


def many_jobs(browser: Browser, url: str, repeats: int) -> list[dict[str, Any]]:
    opened, complete, ordered = [], [], []
    for _ in range(repeats):
        page = fresh_page(browser, url)
        page.goto(f"{url}/profile")
        page.get_by_role("heading", name="Profile").wait_for()
        opened.append(between(page, "a[href='/jobs']", "copy-9999"))
        begun = time.monotonic()
        page.get_by_text(f"{NUM_JOBS + 1} jobs", exact=True).wait_for(timeout=60_000)
        complete.append(time.monotonic() - begun)
        page.get_by_role("button", name="Name", exact=True).click()  # ascending
        page.get_by_text("copy-0", exact=True).wait_for()
        ordered.append(between(page, "th[aria-sort] button", "long-log"))
        page.context.close()
    return [
        figure("10,000 jobs: from the click to rows, ms", statistics.median(opened), 500),
        figure("10,000 jobs: all of them here after, s", statistics.median(complete), None),
        figure("10,000 jobs: sorted by a column, ms", statistics.median(ordered), 500),
    ]


def between(page: Page, clicked: str, shown: str) -> float:
    """Milliseconds from a click to the frame that shows a text."""
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
