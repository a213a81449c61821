"""What a researcher does in a browser: watch a run, compare, see what it left and where that came from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.support.browser import Tab
from tests.support.trained import finish_training, model_of, start_training

from danlu.testing.serving import RunningServer


@pytest.fixture(scope="module")
def runs(console: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three runs that are over, made by a script; the name of one is HTML."""
    folder = tmp_path_factory.mktemp("trained")
    names = ("baseline", "wider", "<img src=x onerror=alert(1)>")
    return [
        finish_training(start_training(folder, console, name, lr=2.0 + number)) for number, name in enumerate(names)
    ]


class TestRuns:
    def test_a_run_is_drawn_while_it_is_made(self, console: RunningServer, admin: Tab, tmp_path: Path) -> None:
        page = admin.go("/experiments")
        expect(page.locator(".page-head .badge")).to_have_text("Live")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        training = start_training(tmp_path, console, "live", until=tmp_path / "enough")
        expect(page.get_by_role("link", name="live", exact=True)).to_be_visible()
        assert not [address for address in asked if "/api/v1/runs?" in address]  # it came by itself
        page.get_by_role("link", name="live", exact=True).click()
        expect(page.get_by_role("heading", name="live")).to_be_visible()
        expect(page.locator(".page-head .badge").first).to_have_text("Running")
        chart = page.get_by_role("img", name=re.compile("^loss"))
        expect(chart).to_be_visible()
        first = chart.get_attribute("aria-label")
        expect(chart).not_to_have_attribute("aria-label", first or "")
        admin.check("run-live")
        (tmp_path / "enough").touch()
        finish_training(training)
        expect(page.locator(".page-head .badge").first).to_have_text("Finished")

    def test_filters_are_the_servers_and_say_what_is_wrong(self, runs: list[str], admin: Tab) -> None:
        page = admin.go("/experiments")
        expect(page.get_by_role("link", name="<img src=x onerror=alert(1)>")).to_be_visible()
        admin.check("experiments")
        field = page.get_by_role("searchbox", name="Filter")
        field.fill("hparams.lr >= 3 and metrics.val.accuracy > 0.5")
        expect(page.get_by_role("link", name="baseline")).to_have_count(0)
        expect(page.get_by_role("link", name="wider")).to_be_visible()
        expect(page).to_have_url(re.compile("q=hparams"))
        field.fill("hparams.lr <")
        expect(page.get_by_role("alert")).to_contain_text("expected a number, or a text in quotes here")
        admin.check("experiments-wrong-filter")
        page.get_by_role("button", name="How to filter").click()
        page.get_by_role("button", name="name ~ mnist").click()
        expect(page.get_by_text("No matching runs")).to_be_visible()
        page.get_by_role("button", name="Clear filters").click()
        page.get_by_role("link", name="mnist").click()
        expect(page).to_have_url(re.compile("folder=vision%2Fmnist"))

    def test_runs_are_compared(self, runs: list[str], admin: Tab) -> None:
        page = admin.go("/experiments?q=not+name+%3D+live")
        page.get_by_role("checkbox", name="Select all").check()
        page.get_by_role("link", name="Compare 3").click()
        expect(page.get_by_role("heading", name="Compare 3 runs")).to_be_visible()
        expect(page.get_by_role("img", name="train/loss. 3 lines.")).to_be_visible()
        page.get_by_role("button", name="Epoch").click()
        page.get_by_label("Log scale").check()
        expect(page).to_have_url(re.compile("axis=epoch.*log=true"))
        admin.check("compare")
        page.get_by_role("link", name="Values").click()
        cells = page.get_by_role("row", name=re.compile("^lr")).get_by_role("cell")
        expect(cells).to_have_count(3)
        assert sorted(cells.all_inner_texts()) == ["2", "3", "4"]
        admin.check("compare-values")
        page.get_by_role("link", name="Parallel coordinates").click()
        expect(page.locator("svg path title")).to_have_count(3)
        admin.check("compare-parallel")
        page.get_by_role("link", name="Scatter").click()
        expect(page.locator("svg circle")).to_have_count(3)
        admin.check("compare-scatter")

    def test_a_run_tells_what_it_was_made_with_and_printed(self, runs: list[str], admin: Tab) -> None:
        page = admin.go(f"/experiments/{runs[0]}?tab=details")
        expect(page.get_by_text("<b>sgd</b>")).to_be_visible()
        admin.check("run-details")
        page.get_by_role("link", name="Output").click()
        expect(page.get_by_text("trained baseline")).to_be_visible()
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Labels").fill("best, 2026")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".facts .tag")).to_have_text(["best", "2026"])


class TestWhatRunsLeave:
    def test_an_artifact_has_files_and_a_place_in_the_flow_and_becomes_a_model(
        self, console: RunningServer, runs: list[str], admin: Tab
    ) -> None:
        model = model_of(console, runs[0])
        page = admin.go("/artifacts")
        page.get_by_role("link", name="mnist-model").click()
        page.get_by_role("button", name="labels.csv").click()
        expect(page.get_by_role("cell", name="5923")).to_be_visible()
        admin.check("artifact-preview")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        assert Path(download.value.path()).read_text() == "digit,count\n0,5923\n1,6742\n"
        page.get_by_role("button", name="Close").click()
        page.get_by_role("link", name="Data flow").click()
        cards = page.locator(".flow-card")
        expect(cards.filter(has_text="mnist-data:")).to_be_visible()
        admin.check("artifact-flow")
        page.goto(f"{admin.url}/models")
        page.get_by_role("button", name="Register model").click()
        page.locator("dialog input[name=name]").fill("digits")
        page.get_by_label("Source").select_option("artifact")
        page.locator("dialog input[name=of]").fill(model)
        page.locator("dialog input[name=aliases]").fill("champion")
        page.locator("dialog button[type=submit]").click()
        expect(page.get_by_role("heading", name="digits")).to_be_visible()
        expect(page.get_by_text("champion → v1")).to_be_visible()
        admin.check("model")
        page.get_by_role("link", name=re.compile("Data flow")).click()
        expect(cards.filter(has_text="baseline")).to_be_visible()
        admin.check("model-flow")
        cards.filter(has_text="baseline").get_by_role("link", name="baseline", exact=True).click()
        expect(page.get_by_role("heading", name="baseline")).to_be_visible()
