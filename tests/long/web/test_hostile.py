"""Hostile names on every page, at two widths."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.support.console import PASSWORD, running_console
from tests.support.hostile import PAYLOADS, HostileTab, pages_of_names

from danlu.testing.serving import RunningServer


@pytest.fixture(scope="module")
def scene(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, dict[str, str]]]:
    with running_console(tmp_path_factory.mktemp("hostile") / "data", "--simulate", "npu:910b:4") as running:
        yield running, pages_of_names(running, tmp_path_factory.mktemp("names"))


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", PAYLOADS)
def test_every_page_stays_in_order(
    browser: Browser, scene: tuple[RunningServer, dict[str, str]], kind: str, width: int
) -> None:
    server, pages = scene
    tab = HostileTab(browser, server, kind, width)
    tab.sign_in("admin", PASSWORD)
    tab.begin()
    wrong = [one for name, path in pages.items() for one in tab.wrong_on(name, path)]
    tab.close()
    assert not wrong, "\n".join(wrong)
