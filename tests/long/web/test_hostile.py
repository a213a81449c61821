"""Hostile names on every page, at two widths."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.conftest import end_server
from tests.support.browser import running_browser
from tests.support.hostile import PAYLOADS, HostileTab, pages_of_names

from danlu.testing.serving import RunningServer

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def scene(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, dict[str, str]]]:
    running = RunningServer(tmp_path_factory.mktemp("hostile") / "data", "--simulate", "npu:910b:4").start()
    with running.client() as client:
        client.set_password(PASSWORD)
    yield running, pages_of_names(running, tmp_path_factory.mktemp("names"))
    end_server(running)


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
