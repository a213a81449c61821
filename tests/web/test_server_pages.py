"""The server's own pages in a browser: on a phone and a desk, light and dark, for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.support.browser import Tab
from tests.support.world import make_world

PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 640}, "locale": "zh-CN", "color_scheme": "dark"}
DESK: dict[str, Any] = {"locale": "en-US", "color_scheme": "light"}


@pytest.fixture(scope="module")
def without_console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with make_world(tmp_path_factory.mktemp("pages") / "data") as world:
        changed = {"oidc_issuer": "https://id.example.com", "oidc_name": f"Example {'very' * 20} long"}
        object.__setattr__(world.state, "settings", world.settings.model_copy(update=changed))
        with world.serving() as url:
            yield url


@pytest.mark.parametrize(("name", "options"), [("phone", PHONE), ("desk", DESK)])
def test_pages_fit_and_can_be_used_by_everybody(
    browser: Browser, without_console: str, name: str, options: dict[str, Any]
) -> None:
    tab = Tab(browser, without_console, **options)
    for page, path in (("ways", "/signin"), ("link", "/signin?token=x"), ("none", "/"), ("command", "/signin/cli")):
        tab.go(path)
        tab.page.locator("h1").wait_for()
        assert tab.page.evaluate("document.documentElement.lang") == options["locale"].replace("en-US", "en")
        assert tab.overflow() <= 0, page
        tab.check(f"server-page-{page}-{name}")
    dark = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == ("rgb(19, 18, 17)" if options["color_scheme"] == "dark" else "rgb(246, 245, 243)")
    tab.close()
