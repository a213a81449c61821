"""Pages of lists that do not come: what came stays, what did not is said, and can be asked for again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.support.browser import Tab
from tests.support.trained import finish_training, start_training, wait_for_models

from danlu.testing.serving import RunningServer

NUM_JOBS = 260
"""More than the first page of the list has."""


@pytest.fixture(scope="module")
def many(console: RunningServer) -> None:
    with console.client() as client:
        # they wait forever: there is no such device
        for number in range(NUM_JOBS):
            client.jobs.submit(name=f"waits-{number}", command="true", resources={"device": "npu:910b:4"}, nodes=9)


def failing(tab: Tab, pattern: str) -> list[bool]:
    """Answer with an error instead of the server while the first item of the returned list is true."""
    is_failing = [True]

    def answer(route: Route) -> None:
        if is_failing[0] and re.search(pattern, route.request.url):
            route.fulfill(status=500, json={"error": "Broken", "message": "the disk is full", "fields": {}})
        else:
            route.fallback()

    tab.page.route("**/api/v1/**", answer)
    return is_failing


def shorten(route: Route) -> None:
    route.fallback(url=route.request.url.replace("limit=1000", "limit=2"))


def expect_retry(page: Page, is_failing: list[bool]) -> None:
    """The error is told with a button, and the button helps."""
    told = page.get_by_role("alert").filter(has_text="the disk is full").first
    expect(told).to_be_visible()
    button = told.get_by_role("button", name="Try again")
    expect(button).to_be_visible()
    is_failing[0] = False
    # without waiting for it: what the page asks for again by itself may take the error away as soon as nothing fails
    button.evaluate_all("buttons => { for (const button of buttons) button.click() }")
    expect(page.get_by_text("the disk is full")).to_have_count(0)


@pytest.mark.usefixtures("many")
class TestJobs:
    def test_a_later_page_that_fails_is_told_and_fetched_again(self, admin: Tab) -> None:
        is_failing = failing(admin, r"/jobs\?.*cursor=")
        page = admin.go("/jobs")
        expect(page.get_by_role("alert")).to_contain_text(re.compile(r"Only the newest \d+ are shown\."))
        expect(page.get_by_role("link", name=f"waits-{NUM_JOBS - 1}", exact=True)).to_be_visible()
        expect(page.get_by_text("Loading more")).to_have_count(0)
        expect_retry(page, is_failing)
        expect(page.get_by_text(f"{NUM_JOBS} jobs")).to_be_visible()

    def test_the_queue_of_the_cluster_does_the_same(self, admin: Tab) -> None:
        is_failing = failing(admin, r"/jobs\?.*cursor=")
        expect_retry(admin.go("/cluster"), is_failing)


def test_a_later_page_of_a_folder_that_fails_is_told_and_fetched_again(
    console: RunningServer, admin: Tab, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("x")
    with console.client() as client:
        client.store.upload(tmp_path, "store://main/many/")
    is_failing = failing(admin, r"/objects\?.*cursor=")
    # a page of two: the third object is on the next one
    admin.page.route(re.compile(r"/objects\?.*limit=1000"), shorten)
    page = admin.go("/store?bucket=main&path=many/")
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_role("link", name="0.txt")).to_be_visible()
    expect_retry(page, is_failing)
    expect(page.get_by_role("link", name="2.txt")).to_be_visible()


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/", r"/runs\?limit=20"),
        ("/", r"/quotas"),
        ("/experiments", r"/folders"),
        ("/submit", r"/frameworks"),
        ("/submit", r"/nodes"),
        ("/submit", r"/templates"),
        ("/admin?tab=flavors", r"/flavor-suggestions"),
    ],
)
def test_what_is_beside_the_main_thing_says_that_it_failed(admin: Tab, path: str, pattern: str) -> None:
    is_failing = failing(admin, pattern)
    expect_retry(admin.go(path), is_failing)


def test_the_charts_and_media_of_a_run(
    console: RunningServer, admin: Tab, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = finish_training(start_training(tmp_path_factory.mktemp("trained"), console, "baseline"))
    wait_for_models(console, 1)  # the run has arrived
    is_failing = failing(admin, r"/series$")
    expect_retry(admin.go(f"/experiments/{run}"), is_failing)
    admin.page.unroute_all()
    is_failing = failing(admin, r"/media\?")
    expect_retry(admin.go(f"/experiments/{run}?tab=media"), is_failing)


def test_a_piece_of_a_log(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit(name="talks", command="seq 1 200000")
        job.wait()
    is_failing = failing(admin, r"/logs/0\?")
    page = admin.go(f"/jobs/{job.id}/logs")
    expect(page.get_by_role("alert")).to_contain_text("Part of the log could not be loaded.")
    expect_retry(page, is_failing)
    expect(page.get_by_text("1", exact=True).first).to_be_visible()
