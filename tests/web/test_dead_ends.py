"""Places where people were stuck, each with its way on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.support.browser import Tab
from tests.support.console import PASSWORD
from tests.support.journals import JournalMaker
from tests.support.sent_runs import send_runs

from danlu.testing.serving import RunningServer

NUM_RUNS = 20
LONG = "a-name-of-a-run-that-is-much-longer-than-anybody-would-like-to-read"


@pytest.fixture(scope="module")
def runs(console: RunningServer) -> list[str]:
    """Twenty runs with a metric per layer, the first with a loss that is no number; their names are long."""
    made = []
    for number in range(NUM_RUNS):
        one = JournalMaker(
            name=f"{number:02d}-{LONG}", hparams={"lr": 10.0 ** -(1 + number % 3), "seed": number}, folder="many"
        )
        loss = [1.0 / (step + 1 + number) for step in range(10)]
        one.log("train", {"loss": [*loss[:9], float("nan")] if number == 0 else loss}, range(10))
        one.log("train", {f"layer{layer}/norm": loss for layer in (10, 2, 1)}, range(10))
        made.append(one.finish())
    return send_runs(console, made)


def test_somebody_without_a_project_is_told_what_to_do(console: RunningServer, open_tab: Callable[..., Tab]) -> None:
    with console.client() as client:
        client.people.register("newcomer", PASSWORD)
        client.people.approve("newcomer")
    tab = open_tab(locale="zh-CN")
    page = tab.sign_in("newcomer", PASSWORD)
    tab.go("/submit")
    expect(page.get_by_role("heading", name="您还没有加入任何项目")).to_be_visible()
    expect(page.get_by_text("newcomer").last).to_be_visible()
    tab.check("no-project")


def test_an_unknown_address_keeps_the_navigation(admin: Tab) -> None:
    page = admin.go("/no/such/page")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    expect(page.get_by_role("navigation", name="Navigation").get_by_role("link", name="Jobs")).to_be_visible()
    admin.check("not-found")


def test_an_empty_bucket_asks_for_files_and_its_deletion_names_it(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        client.store.make_bucket("hollow")
    page = admin.go("/store?bucket=hollow")
    expect(page.locator(".empty").get_by_role("button", name="Upload files")).to_be_visible()
    expect(page.locator(".empty").get_by_text("Delete")).to_have_count(0)
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Delete bucket").click()
    expect(page.get_by_role("dialog").get_by_role("heading", name="Delete bucket hollow?")).to_be_visible()
    admin.check("bucket-delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Bucket hollow was deleted")).to_be_visible()


def test_a_job_leads_to_its_results_data_and_code(console: RunningServer, admin: Tab, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('the code that ran')\n")
    (tmp_path / "digits.csv").write_text("1,2\n")
    with console.client() as client:
        client.store.upload(tmp_path / "digits.csv", "store://main/linked-data/")
        job = client.jobs.submit(
            name="linked",
            command='echo result > "$DANLU_OUTPUT_DIR/result.txt"',
            code={"path": str(tmp_path)},
            data={"store://main/linked-data/": "data"},
        )
        job.wait()
    page = admin.go(f"/jobs/{job.id}")
    page.get_by_role("link", name="store://main/linked-data/").click()
    expect(page.get_by_role("link", name="digits.csv")).to_be_visible()
    page.go_back()
    page.locator(".tree-files summary").click()
    page.get_by_role("button", name="train.py").click()
    expect(page.get_by_role("dialog")).to_contain_text("the code that ran")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="store://main/", exact=False).last.click()
    expect(page.get_by_role("link", name="result.txt")).to_be_visible()
    admin.go(f"/jobs/{job.id}")
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"linked ({job.id})")
    page.keyboard.press("Escape")


def test_back_from_compare_the_selection_is_there(runs: list[str], admin: Tab) -> None:
    page = admin.go("/experiments?folder=many")
    for number in (1, 2):
        page.get_by_role("checkbox", name=f"Select {number:02d}-").check()
    page.get_by_role("link", name="Compare 2").click()
    expect(page.get_by_role("heading", name="Compare 2 runs")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("link", name="Compare 2")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Select 01-")).to_be_checked()


class TestLooks:
    def test_a_long_name_leaves_room_for_the_other_columns_of_jobs(self, console: RunningServer, admin: Tab) -> None:
        with console.client() as client:
            client.jobs.submit(name=LONG, command="true").wait()
        page = admin.go("/jobs")
        expect(page.get_by_role("link", name=LONG)).to_be_visible()
        table = page.get_by_role("region", name="Jobs")
        assert table.evaluate("table => table.scrollWidth <= table.clientWidth + 1"), "a name pushed columns away"

    def test_names_leave_room_and_menus_have_their_size(self, runs: list[str], admin: Tab) -> None:
        page = admin.go(
            '/experiments?folder=many&sort=name&columns=["name","state","metrics.train.loss","created","duration"]'
        )
        expect(page.get_by_role("row", name="00-")).to_contain_text("NaN")
        table = page.get_by_role("region", name="Experiments")
        assert table.evaluate("table => table.scrollWidth <= table.clientWidth + 1"), "a name pushed columns away"
        page.get_by_role("button", name="Columns").click()
        box = page.get_by_role("searchbox", name="Find a column").bounding_box()
        assert box is not None
        assert box["height"] < 60
        first = page.get_by_role("group", name="Columns").get_by_label("Name", exact=True).bounding_box()
        assert first is not None
        assert first["y"] - box["y"] < 200, "the menu is stretched"
        admin.check("columns")

    def test_all_compared_runs_can_be_seen(self, runs: list[str], admin: Tab) -> None:
        page = admin.go(f"/experiments/compare?runs={','.join(runs)}")
        entries = page.get_by_role("list", name="Runs").get_by_role("listitem")
        expect(entries).to_have_count(NUM_RUNS)
        entries.last.scroll_into_view_if_needed()
        expect(entries.last).to_be_in_viewport(ratio=1)
        titles = page.locator(".chart-card h3").all_inner_texts()
        layers = [title for title in titles if "layer" in title]
        assert layers == ["train/layer1/norm", "train/layer2/norm", "train/layer10/norm"]
        admin.check("compare-20")
        page.get_by_role("link", name="Parallel coordinates").click()
        texts = page.locator("svg text").all_text_contents()
        assert {"0.1", "0.01", "0.001"} <= set(texts), "ticks that nobody chose"
        admin.check("parallel-20")

    def test_runs_are_grouped_and_compared_with_a_baseline(self, runs: list[str], admin: Tab) -> None:
        page = admin.go(f"/experiments/compare?runs={','.join(runs)}")
        page.get_by_label("Group by").select_option("hparams.lr")
        chart = page.get_by_role("img", name="train/loss. 3 lines.")
        expect(chart).to_have_attribute("aria-label", re.compile(r"lr=0\.1 \(7\)"))
        page.get_by_label("Ignore outliers").check()
        expect(page).to_have_url(re.compile("group=hparams.lr.*outliers=true|outliers=true.*group=hparams.lr"))
        page.get_by_role("button", name="Enlarge train/loss").click()
        page.get_by_label("Y max").fill("0.5")
        admin.check("chart-large")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        page.get_by_role("button", name=re.compile("Use 01-.* as baseline")).click()
        page.get_by_role("link", name="Values").click()
        expect(page.get_by_role("row", name=re.compile("^train.loss"))).to_contain_text("%")
        admin.check("compare-baseline")
        page.get_by_role("link", name="Environment").click()
        expect(page.get_by_text("Code, packages and machines are the same.")).to_be_visible()

    def test_a_copy_button_is_not_over_the_code(self, admin: Tab) -> None:
        page = admin.go("/submit")
        page.get_by_label("Name", exact=True).fill("copied")
        page.get_by_label("Command").fill("echo " + "long " * 60)
        code = page.locator(".copyable").first
        expect(code).to_be_visible()
        text, button = code.locator("pre").bounding_box(), code.get_by_role("button").bounding_box()
        assert text is not None
        assert button is not None
        assert text["x"] + text["width"] <= button["x"]
