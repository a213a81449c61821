"""A real browser that watches itself: errors on its console, pictures, and whether everybody can use a page."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from danlu.server.console.files import Console, packaged
from danlu.testing import waiting

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = Path(os.environ.get("DANLU_SHOTS", ROOT / ".shots"))
ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # else letters are wider than what the page measures
)
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first draws no window that nobody sees, and takes two thirds of the processor time."""

WORST = ("serious", "critical")
REFUSED = re.compile(r"Failed to load resource: the server responded with a status of (401|403|404|409|422|429)")
"""What the server refuses on purpose is an error to the browser, and none to us."""

CUT = """() => [...document.querySelectorAll('main *')].filter(element => {
  const style = getComputedStyle(element);
  const clips = style.overflowX === 'hidden' || style.overflowX === 'clip';
  const isTold = element.title || element.querySelector('[title]') || element.closest('[title]');
  const isSeen = element.clientWidth > 1 && style.visibility !== 'hidden';
  return clips && isSeen && element.scrollWidth > element.clientWidth + 1 && !isTold && element.innerText;
}).map(element => element.innerText.slice(0, 80))"""
"""Texts that are cut, and do not say the rest on pointing."""

DRAWN = """() => new Promise(resolve => {
  const same = 30;
  let left = same;
  const observer = new MutationObserver(() => { left = same; });
  observer.observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true});
  const frame = () => {
    left -= 1;
    if (left > 0) return requestAnimationFrame(frame);
    observer.disconnect();
    resolve(null);
  };
  requestAnimationFrame(frame);
})"""
"""Ends after 30 frames in which nothing has changed."""


@contextmanager
def running_browser(*args: str) -> Iterator[Browser]:
    """Chromium without a window. Skips the test where there is none, or where the console was not built."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("Chromium is not installed; scripts/system-packages.sh tests installs it")
    if not Console(packaged()).is_built:
        pytest.skip("the console is not built; make web builds it")
    expect.set_options(timeout=waiting.HANG_SECONDS * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*ARGS, *args])
        yield browser
        browser.close()


class Tab:
    """A page of the console, in a browser of its own."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self.errors: list[str] = []
        self.context: BrowserContext = browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, "locale": "en-US", **options}
        )
        self.context.set_default_timeout(waiting.HANG_SECONDS * 1000)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(f"a dialog: {dialog.message}"))

    def go(self, path: str) -> Page:
        self.page.goto(f"{self.url}{path}")
        return self.page

    def settle(self) -> None:
        """Wait until the page has been drawn: nothing of it changed during several frames in a row."""
        self.page.evaluate(DRAWN)

    def sign_in(self, name: str, password: str) -> Page:
        self.go("/signin")
        self.page.locator("input[name=name]").fill(name)
        self.page.locator("input[name=password]").fill(password)
        self.page.locator("button[type=submit]").click()
        self.page.wait_for_url(f"{self.url}/")
        return self.page

    def check(self, name: str) -> None:
        """Take a picture, and look for what some people could not use and for errors so far."""
        found = self.found(name)
        assert not found, f"{name}: {found}"

    def found(self, name: str) -> list[str]:
        """What `check` complains of."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")
        return [*self.problems(), *self.errors]

    def problems(self) -> list[str]:
        """What axe finds seriously wrong."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['help']}: {[node['html'][:150] for node in one['nodes'][:3]]}"
            for one in found["violations"]
            if one["impact"] in WORST
        ]

    def overflow(self) -> int:
        """How many pixels the page is too wide."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))

    def cut_texts(self) -> list[str]:
        return [str(text) for text in self.page.evaluate(CUT)]

    def close(self) -> None:
        self.context.close()

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not REFUSED.match(message.text):
            self.errors.append(message.text)
