"""Experiments as a workspace: what many runs say, as a researcher looks at them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, StorageState, expect
from tests.support.browser import Tab

import danlu
from danlu.testing.serving import RunningServer

SCRIPT = """
import math
from danlu import track

for number, lr in enumerate((0.1, 0.1, 0.01, 0.01)):
    run = track.start(f"w{number}", folder="work", hparams={"lr": lr, "seed": number})
    for step in range(30):
        run.log("train", {"loss": 3 / (1 + lr * step) + number / 10, "layer10/norm": step, "layer2/norm": -step}, step)
        run.log("val", {"accuracy": math.sin(step / 12) - number / 100}, step)
    if number == 0:
        run.log_audio("speech", [math.sin(one / 5) for one in range(4000)], sample_rate=8000)
        run.log_table("worst", ["file", "loss"], [["<b>.png", 2.5], ["b.png", 2.25]])
        run.log_image("input", [[[one / 30, 0.5, 1.0] for one in range(30)] for _ in range(20)])
    for step in range(70 if number == 1 else 0):
        run.log_image("digit", [[step / 70] * 9] * 9, step)
    run.finish()
    print(run.id)
"""


@pytest.fixture(scope="module")
def ids(console: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Four runs: two seeds of two learning rates."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "train.py").write_text(SCRIPT)
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(danlu.__file__).parents[1]),
        "DANLU_CONFIG": str(folder / "none.yml"),
        "DANLU_URL": console.url,
        "DANLU_API_KEY": console.api_key,
    }
    done = subprocess.run([sys.executable, "train.py"], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_runs_beside_their_charts_are_grouped_with_bands(ids: list[str], admin: Tab) -> None:
    page = admin.go("/experiments?folder=work")
    page.get_by_role("button", name="Charts").click()
    expect(page.get_by_role("img", name="train/loss. 4 lines.")).to_be_visible()
    admin.check("workspace")
    page.get_by_label("Group by").select_option("hparams.lr")
    expect(page.get_by_role("img", name="train/loss. 2 lines. lr=0.01 (2)")).to_be_visible()
    expect(page).to_have_url(re.compile("group=hparams.lr"))
    page.get_by_role("checkbox", name="Select w0").uncheck()
    expect(page.get_by_role("img", name="train/loss. 2 lines. lr=0.01 (2)")).to_be_visible()
    expect(page.get_by_text("lr=0.1 (1)").first).to_be_visible()
    expect(page.get_by_text("3 of 4 runs drawn")).to_be_visible()
    admin.check("workspace-groups")


def test_best_values_are_columns_against_a_baseline_and_are_exported(ids: list[str], admin: Tab) -> None:
    page = admin.go("/experiments?folder=work&columns=%5B%22name%22%2C%22hparams.seed%22%5D&sort=name")
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("button", name="max of val.accuracy").click()
    page.get_by_role("button", name="Pin the column seed").click()
    page.keyboard.press("Escape")
    page.get_by_role("checkbox", name="Select w0").check()
    page.get_by_role("button", name="Set as baseline").click()
    expect(page.get_by_role("button", name="Baseline: w0")).to_be_visible()
    cells = page.get_by_role("row", name=re.compile("w3")).get_by_role("cell")
    expect(cells.last).to_have_text(re.compile(r"^0\.9\d+ -3\.00 %$"))
    expect(page.locator("td.pinned").nth(2)).to_have_text("0")
    admin.check("workspace-table")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0] == "id,name,hparams.seed,max(metrics.val.accuracy)"
    assert lines[4].split(",")[:3] == [ids[3], "w3", "3"]


def test_sounds_tables_and_images_are_shown(ids: list[str], admin: Tab) -> None:
    page = admin.go(f"/experiments/{ids[0]}?tab=media")
    expect(page.get_by_role("cell", name="<b>.png")).to_be_visible()
    sound = page.locator("audio")
    expect(sound).to_have_js_property("error", None)
    sound.evaluate("sound => sound.readyState > 0 || new Promise(done => sound.onloadedmetadata = done)")
    assert sound.evaluate("sound => sound.duration") == pytest.approx(0.5)
    admin.check("run-media")


def test_one_goes_through_all_steps_of_a_medium(ids: list[str], admin: Tab) -> None:
    page = admin.go(f"/experiments/{ids[1]}?tab=media")
    slider = page.get_by_role("slider", name="Step of train/digit")
    expect(slider).to_have_attribute("aria-valuetext", "Step 69")
    slider.fill("0")
    expect(slider).to_have_attribute("aria-valuetext", "Step 0")
    image = page.locator("figure img")
    expect(image).to_be_visible()
    box = image.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) > 100, "the image is squeezed"
    admin.check("run-steps")


def test_a_zoom_stays_and_a_view_brings_it_to_others(
    ids: list[str], admin: Tab, open_tab: Callable[..., Tab], signed_in: StorageState
) -> None:
    page = admin.go("/experiments?folder=work&show=charts&group=hparams.lr")
    zoom(page.get_by_role("img", name="train/loss. 2 lines."))
    expect(page).to_have_url(re.compile(r"(?=.*from=\d)(?=.*to=\d)"))
    page.get_by_role("button", name="Options of val/accuracy").click()
    page.get_by_role("button", name="Pin to top").click()
    expect(page.locator(".chart-card h3").first).to_have_text("val/accuracy")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Save as view").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("the <b>middle</b>")
    dialog.get_by_label("Share with all members of the project").check()
    dialog.get_by_role("button", name="Save").click()
    in_address = re.compile(r"view=(?:%22)?(\d+)")
    expect(page).to_have_url(in_address)
    view = in_address.search(page.url)
    assert view is not None
    other = open_tab(storage_state=signed_in, locale="zh-CN")
    seen = other.go(f"/views/{view[1]}")
    chart = seen.get_by_role("img", name="val/accuracy. 2 ")
    expect(chart).to_be_visible()
    expect(seen).to_have_url(re.compile(r"(?=.*from=\d)(?=.*group=hparams.lr)"))
    expect(seen.locator(".chart-card h3").first).to_have_text("val/accuracy")
    seen.get_by_role("button", name="the <b>middle</b>").click()
    expect(seen.get_by_role("link", name="the <b>middle</b>")).to_be_visible()
    other.check("views-chinese")
    seen.get_by_role("button", name="删除 the <b>middle</b>").click()
    seen.get_by_role("dialog").get_by_role("button", name="删除").click()
    expect(seen.get_by_text("已删除视图“the <b>middle</b>”")).to_be_visible()
    chart.dblclick()  # tells nothing where the chart was not zoomed
    expect(seen).not_to_have_url(re.compile("from="))
    other.go(f"/views/{view[1]}")
    expect(seen.get_by_role("heading", name="页面不存在")).to_be_visible()
    expect(seen.get_by_text(f"没有视图 '{view[1]}'")).to_be_visible()


def zoom(chart: Locator) -> None:
    """Drag over the middle of a chart."""
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    mouse, y = chart.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + box["width"] * 0.4, y)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.7, y, steps=4)
    mouse.up()


def test_moving_runs_and_the_trash_are_undone(ids: list[str], admin: Tab) -> None:
    page = admin.go("/experiments?folder=work")
    page.get_by_role("checkbox", name="Select w3").check()
    page.get_by_role("button", name="Move", exact=True).click()
    page.get_by_label("Target folder").fill("elsewhere")
    page.get_by_role("dialog").get_by_role("button", name="Move").click()
    row = page.get_by_role("link", name="w3", exact=True)
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()
    page.get_by_role("checkbox", name="Select w3").check()
    page.get_by_role("button", name="Move to trash").click()
    page.get_by_role("dialog").get_by_role("button", name="Move to trash").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").last.click()
    expect(row).to_be_visible()
    admin.check("undone")
