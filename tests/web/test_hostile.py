"""Hostile names on the pages that people look at most; all pages in all looks are in tests/long/web."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect
from tests.support.browser import Tab
from tests.support.console import PASSWORD
from tests.support.hostile import HostileTab, pages_of_names

from danlu.testing.serving import RunningServer

SOME = (
    *("overview", "jobs", "job", "job-logs", "clone", "experiments", "run-charts", "run-details"),
    *("artifact-files", "model", "store-file", "cluster", "people", "audit"),
)


def test_hostile_names_are_text_and_hide_nothing(
    browser: Browser, console: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pages = pages_of_names(console, tmp_path_factory.mktemp("hostile"))
    tab = HostileTab(browser, console, "tricks", 1280)
    tab.sign_in("admin", PASSWORD)
    tab.begin()
    wrong = [one for name in SOME for one in tab.wrong_on(name, pages[name])]
    assert not wrong, "\n".join(wrong)
    # what cannot be seen is written out, in the page's title too
    expect(tab.go(pages["job"])).to_have_title(re.compile(r"safe\\u202Egpj\.exe <img"))
    tab.close()


def test_a_field_tells_what_is_hidden_in_it(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit(name="safe", command="echo 'a\u202eb' # \u200b")
    page = admin.go(f"/submit?from={job.id}")
    told = page.get_by_text("Contains invisible characters: U+202E, U+200B.")
    told.wait_for()
    # the job file has them as escapes, and so has the preview of the command
    assert "a\\u202eb" in page.get_by_role("region", name="Job file").inner_text()
