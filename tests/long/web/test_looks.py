"""Every page in both languages, both themes and two widths: usable by everybody, nothing cut, nothing too wide."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from playwright.sync_api import Browser
from tests.conftest import end_server
from tests.support.browser import Tab
from tests.support.trained import pages_of_runs

from danlu.testing.serving import RunningServer

PASSWORD = "correct horse"
LANGUAGES = {"en": "en-US", "zh": "zh-CN"}
WIDTHS = (1280, 390)
THEMES = ("light", "dark")
ALL = list(product(LANGUAGES, WIDTHS, THEMES))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[tuple[str, dict[str, str]]]:
    """A server with jobs in many states, and the addresses of its pages by name."""
    running = RunningServer(tmp_path_factory.mktemp("looks") / "data", "--simulate", "npu:910b:4").start()
    with running.client() as client:
        client.set_password(PASSWORD)
        long_name = "a-name-that-is-as-long-as-names-of-jobs-may-be-and-a-little-more"[:60]
        done = client.jobs.submit(name=long_name, command="seq 1 500", tags={"team": "vision"})
        failed = client.jobs.submit(name="failed", command="sleep 3; echo Error: no such file; exit 3", nodes=2)
        holds = client.jobs.submit(name="holds-all", command="sleep 3600", resources={"device": "npu:4"})
        waits = client.jobs.submit(name="waits", command="true", resources={"device": "npu:2"})
        client.flavors.add("npu-910b-2", device="npu:910b:2", cpus=1, memory="8GiB", price_per_hour="18.4008")
        client.flavors.add("small", cpus=0.5, price_per_hour="0.7", description="to try things out, and no more")
        client.frameworks.add("pytorch-2.13-cpu", title="PyTorch 2.13", env={"OMP_NUM_THREADS": "1"})
        priced = client.jobs.submit(name="priced", command="sleep 1", flavor="small", framework="pytorch-2.13-cpu")
        priced.wait()
        done.wait()
        failed.wait()
    tabs = ("", "/logs", "/metrics", "/resources", "/tasks", "/spec", "/events")
    paths = {
        "overview": "/",
        "jobs": "/jobs",
        "jobs-none": "/jobs?q=nothing-is-called-so",
        "submit": "/submit",
        "clone": f"/submit?from={done.id}",
        "profile": "/profile",
        "priced": f"/jobs/{priced.id}",
        "clone-priced": f"/submit?from={priced.id}",
        "flavors": "/admin?tab=flavors",
        "frameworks": "/admin?tab=frameworks",
        "examples": "/examples",
        "examples-npu": "/examples?tag=npu",
        "example": "/examples/ddp_images",
        "example-script": "/examples/em_ddp?file=README.md",
        "example-used": "/submit?example=preemption",
        "example-roles": "/submit?example=ps_worker",
        "waits": f"/jobs/{waits.id}",
        "waits-resources": f"/jobs/{waits.id}/resources",
        **{f"job{tab.replace('/', '-')}": f"/jobs/{failed.id}{tab}" for tab in tabs},
        "logs-hits": f"/jobs/{done.id}/logs?q=42",
        "logs-all-ranks": f"/jobs/{failed.id}/logs?all=true&level=error&times=true",
        "terminal": f"/jobs/{holds.id}/terminal",
        **pages_of_runs(running, tmp_path_factory.mktemp("trained")),
    }
    with running.client() as client:
        client.drain_node(next(client.nodes()).name, "the fan is broken; a new one comes on Thursday, if at all")
    yield running.url, paths
    end_server(running)


@pytest.mark.long
@pytest.mark.parametrize(("language", "width", "theme"), ALL)
def test_all_pages(browser: Browser, pages: tuple[str, dict[str, str]], language: str, width: int, theme: str) -> None:
    url, paths = pages
    options = {
        "viewport": {"width": width, "height": 844},
        "locale": LANGUAGES[language],
        "color_scheme": theme,
        "has_touch": width < 500,
    }
    tab = Tab(browser, url, **options)
    look = f"{language}-{width}-{theme}"
    wrong: list[str] = []
    for name in ("signin", "register"):
        tab.go(f"/{name}")
        tab.page.wait_for_selector("form")
        tab.check(f"{name}-{look}")
    tab.sign_in("admin", PASSWORD)
    for name, path in paths.items():
        tab.go(path)
        tab.page.wait_for_selector("main h1")
        tab.page.wait_for_load_state("load")
        tab.settle()
        wrong += [f"{name}: {problem}" for problem in tab.found(f"{name}-{look}")]
        tab.errors.clear()
        if tab.overflow() > 0:
            wrong.append(f"{name} is {tab.overflow()} px too wide")
        wrong += [f"{name}: {text!r} is cut" for text in tab.cut_texts()]
    tab.close()
    assert wrong == []
