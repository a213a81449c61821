"""A typical training log: a million lines and 200 MB, mostly progress bars and colours; and one of five million lines,
which is taller than the maximum height of a page.

Measures the time from opening the address until the last line is visible, by the page's own clock, and the longest
frame while scrolling through the log.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from jobs_pages import fresh_page, longest_frame
from pages import PASSWORD, figure
from playwright.sync_api import Browser, Page

from danlu.testing.serving import RunningServer

PRINTS = r"""
import sys
write = sys.stdout.buffer.write
BAR = b"\r\x1b[32mepoch %3d\x1b[0m: %3d%%|%-100s| %d/900 [00:12<00:34, 73.1it/s, loss=\x1b[1m0.69\x1b[0m]"
LINE = b"\x1b[36m2026-01-01 00:00:00\x1b[0m \x1b[1mINFO\x1b[0m step %d loss 0.693147\n"
for epoch in range(100):
    for step in range(900):
        write(BAR % (epoch, step // 9, b"#" * (step // 9), step) * 9)
    write(b"\n")
    for number in range(10_000):
        write(LINE % (epoch * 10_000 + number))
write(b"the last line\n")
"""
TALL = "seq 1 4999999; echo the last line"
SHOWN = """() => new Promise(done => {
  const look = () => document.querySelector('[role=region][tabindex]')?.innerText.includes('the last line')
    ? done(performance.now()) : requestAnimationFrame(look);
  look();
})"""


def measure_logs(browser: Browser, folder: Path, repeats: int) -> list[dict[str, Any]]:
    server = RunningServer(folder / "logs").start()
    try:
        with server.client() as client:
            client.set_password(PASSWORD)
            job = client.jobs.submit(name="bars", command=["python3", "-c", PRINTS])
            job.wait(timeout=600)
            (size,) = [task.log_bytes for task in job.refresh().details.attempts[-1].tasks]
            tall = client.jobs.submit(name="tall", command=TALL)
            tall.wait(timeout=600)
        assert size >= 200_000_000, f"the log has {size} bytes"
        opened, scrolled = open_and_scroll(browser, f"{server.url}/jobs/{job.id}/logs?line=1000101", repeats)
        reached, moved = open_and_scroll(browser, f"{server.url}/jobs/{tall.id}/logs?line=5000000", repeats)
        return [
            figure("1,000,000 lines, 200 MB of bars and colours: open at the end, s", opened, 1),
            figure("1,000,000 lines, 200 MB: longest frame, scrolling, ms", scrolled, 200),
            figure("5,000,000 lines: open at the end, s", reached, 1),
            figure("5,000,000 lines: longest frame, scrolling, ms", moved, 200),
        ]
    finally:
        server.stop()


def open_and_scroll(browser: Browser, address: str, repeats: int) -> tuple[float, float]:
    """Seconds until the last line is visible, and the longest frame in milliseconds; medians."""
    opened, scrolled = [], []
    for _ in range(repeats):
        page = fresh_page(browser, address.partition("/jobs/")[0])
        page.goto(address, wait_until="commit")
        opened.append(float(page.evaluate(SHOWN)) / 1000)
        scrolled.append(longest_frame(page, lambda page=page: scroll(page)))
        page.context.close()
    return statistics.median(opened), statistics.median(scrolled)


def scroll(page: Page) -> None:
    box = page.get_by_role("region", name="Log of rank 0")
    box.hover()
    for _ in range(20):
        page.mouse.wheel(0, -2_000)
        time.sleep(0.02)
    for part in (0.25, 0.5, 0.75, 0.1, 1.0, 0.0):
        box.evaluate("(box, part) => { box.scrollTop = box.scrollHeight * part }", part)
        time.sleep(0.3)
