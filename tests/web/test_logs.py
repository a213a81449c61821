"""The log viewer: what a terminal would show, with exact numbers, of one rank or of all."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tests.support.browser import Tab

from danlu.client.jobs.job import Job
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

SCRIPT = r"""
import sys
w = sys.stdout.write
for step in range(3000): w(f"\rtrain {step}/3000")
w("\n")
for step in range(200): w(f"\router {step}\n\rinner {step}\x1b[A")
w("\n\n")
w("\x1b[31mred text\x1b[0m and \x1b]8;;https://example.org/docs\x1b\\a link\x1b]8;;\x1b\\ and 12\b3\n")
w("\x1b]8;;javascript:alert(1)\x1b\\not a link\x1b]8;;\x1b\\\n")
for line in range(20000): w(f"line {line} " + "x" * 40 + "\n")
w("WARNING: the learning rate is high\n")
w("long " * 200 + "\n")
w("ValueError: the needle\n")
"""


@pytest.fixture(scope="module")
def job(console: RunningServer) -> Job:
    with console.client() as client:
        made = client.jobs.submit(name="printer", command=["python3", "-c", SCRIPT])
        assert made.wait().state is JobState.SUCCEEDED
        return made


def test_it_shows_what_a_terminal_would(job: Job, admin: Tab) -> None:
    page = admin.go(f"/jobs/{job.id}/logs")
    box = page.get_by_role("region", name="Log of rank 0")
    for text in ("train 2999/3000", "outer 199", "inner 199", "red text and a link and 13", "not a link"):
        expect(box.get_by_text(text, exact=False).first).to_be_visible()
    expect(box.get_by_text("train 0/3000")).to_have_count(0)
    expect(box.get_by_text("outer 0")).to_have_count(0)
    link = box.get_by_role("link")
    expect(link).to_have_count(1)
    expect(link).to_have_attribute("href", "https://example.org/docs")
    expect(page.get_by_text("20,008 lines")).to_be_visible()  # as the server counts them
    admin.check("logs-terminal")


def test_a_search_lands_on_its_hit_and_a_line_has_an_address(job: Job, admin: Tab) -> None:
    page = admin.go(f"/jobs/{job.id}/logs")
    box = page.get_by_role("region", name="Log of rank 0")
    page.get_by_label("Search the log").fill("line 15000 ")
    page.get_by_role("button", name="Find").click()
    hit = box.get_by_text("line 15000 ")
    expect(hit).to_be_in_viewport()
    row = box.locator("div").filter(has=page.get_by_text("line 15000 ")).last
    expect(row).to_contain_text("15006")
    row.get_by_text("15006").click()
    expect(page).to_have_url(re.compile("line=15006"))
    page.goto(f"{admin.url}/jobs/{job.id}/logs?line=15006&times=true")
    expect(box.get_by_text("line 15000 ")).to_be_in_viewport()
    expect(box.get_by_text(re.compile(r"^\d\d:\d\d:\d\d$")).first).to_be_visible()
    page.get_by_label("Level").select_option("Warnings and errors")
    expect(page.get_by_text("2 matching lines")).to_be_visible()
    page.get_by_role("button", name="ValueError: the needle").click()
    expect(box.get_by_text("the needle")).to_be_in_viewport()
    page.get_by_label("Wrap lines").check()
    admin.settle()
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth + 1")
    admin.check("logs-wrapped")


def test_hits_are_walked_through_both_ways(job: Job, admin: Tab) -> None:
    page = admin.go(f"/jobs/{job.id}/logs?q=line+1999")
    box = page.get_by_role("region", name="Log of rank 0")
    hits = page.get_by_role("region", name="Matching lines")
    expect(hits.get_by_text("1 of 11")).to_be_visible()
    page.get_by_role("button", name="Previous match").click()
    expect(box.get_by_text("line 19999 ")).to_be_in_viewport()
    expect(hits.get_by_text("11 of 11")).to_be_visible()
    page.get_by_role("button", name="Next match").click()
    expect(box.get_by_text("line 1999 ")).to_be_in_viewport()
    admin.check("logs-walked")


NUM_LINES = 2_500_000
"""47 million pixels; browsers scroll over 33 million at most."""


def test_the_end_of_a_log_that_is_taller_than_browsers_can_scroll(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit(name="tall", command=f"seq 1 {NUM_LINES}")
        job.wait()
    page = admin.go(f"/jobs/{job.id}/logs?line={NUM_LINES}")
    box = page.get_by_role("region", name="Log of rank 0")
    expect(page.get_by_text("2,500,000 lines")).to_be_visible()
    expect(box.get_by_text(str(NUM_LINES)).first).to_be_in_viewport()
    box.hover()
    page.mouse.wheel(0, -1900)  # a hundred lines
    expect(box.get_by_text(str(NUM_LINES - 100), exact=True).last).to_be_in_viewport()
    box.evaluate("box => { box.scrollTop = 0 }")
    expect(box.get_by_text("7", exact=True).last).to_be_in_viewport()
    box.evaluate("box => { box.scrollTop = box.scrollHeight / 2 }")
    expect(box.get_by_text(re.compile(r"^1250\d{3}$")).nth(60)).to_be_in_viewport()  # a row has its number and its text


def test_all_ranks_are_one_log(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        command = "echo rank $DANLU_RANK speaks; echo ERROR: of $DANLU_RANK; seq 1 1500000"
        job = client.jobs.submit(name="ranks", nodes=2, command=command)
        job.wait()
    page = admin.go(f"/jobs/{job.id}/logs")
    page.get_by_label("Rank", exact=True).select_option("All ranks")
    box = page.get_by_role("region", name="All ranks")
    expect(box.get_by_text("1500000").first).to_be_visible()
    expect(page.get_by_text("Showing the end of each rank's log.")).to_be_visible()
    page.get_by_role("button", name="Load earlier lines").click()
    expect(page.get_by_text("3,000,004 lines")).to_be_visible()
    expect(page.get_by_role("button", name="Load earlier lines")).to_have_count(0)
    page.get_by_label("Search the log").fill("Speaks")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_text("2 lines", exact=True)).to_be_visible()  # other lines are left out
    expect(box).to_contain_text("0  rank 0 speaks")
    expect(box).to_contain_text("1  rank 1 speaks")
    page.get_by_label("Timestamps").check()
    expect(box).to_contain_text(re.compile(r"\d\d:\d\d:\d\d +1  rank 1 speaks"))
    page.get_by_label("Level").select_option("Errors")
    expect(box).to_contain_text("1  ERROR: of 1")
    admin.check("logs-all-ranks")
