"""A browser and a server with people, for the journeys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, StorageState
from tests.support.browser import Tab, running_browser
from tests.support.console import PASSWORD, running_console

from danlu.testing.serving import RunningServer


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[RunningServer]:
    """A server that pretends to have 4 NPUs. Its admin signs in with PASSWORD."""
    with running_console(tmp_path_factory.mktemp("console") / "data", "--simulate", "npu:910b:4") as running:
        yield running


@pytest.fixture
def open_tab(browser: Browser, console: RunningServer) -> Iterator[Callable[..., Tab]]:
    """Open a tab in a browser that nobody used before."""
    made: list[Tab] = []

    def make(**options: Any) -> Tab:
        made.append(Tab(browser, console.url, **options))
        return made[-1]

    yield make
    for tab in made:
        tab.close()


@pytest.fixture(scope="module")
def signed_in(browser: Browser, console: RunningServer) -> StorageState:
    """What a browser keeps of an admin who has signed in: doing so takes longer than most of what comes after it."""
    tab = Tab(browser, console.url)
    tab.sign_in("admin", PASSWORD)
    kept = tab.context.storage_state()
    tab.close()
    return kept


@pytest.fixture
def admin(open_tab: Callable[..., Tab], signed_in: StorageState) -> Tab:
    return open_tab(storage_state=signed_in)


def new_link(server: RunningServer) -> str:
    """A fresh sign-in link for the admin."""
    with server.client() as client:
        return re.sub(r"^https?://[^/]+", "", client.people.reset("admin").url)
