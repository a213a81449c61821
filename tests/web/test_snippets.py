"""Every snippet that the console shows, read off the page and run as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from playwright.sync_api import Page
from tests.support.browser import Tab

from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

RUN_SECONDS = 300
T = TypeVar("T")


class Shell:
    """A person's own machine: a folder with a script, a model and data, and the key of the admin."""

    def __init__(self, folder: Path, server: RunningServer) -> None:
        self.folder = folder
        own = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}"
        self.env = {**own, "PATH": path, "HOME": str(folder), "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
        folder.mkdir()
        (folder / "train.py").write_text("print('trained')\n")
        (folder / "model.pt").write_bytes(b"weights")
        (folder / "data").mkdir()
        (folder / "data" / "a.txt").write_text("a\n")

    def bash(self, text: str) -> str:
        return self._run(["bash", "-eu", "-c", text])

    def python(self, text: str) -> str:
        assert "import track" in text
        # what the tracker cannot do is a warning, and the script ends well; here a warning is a fault
        return self._run([sys.executable, "-W", "error", "-c", text])

    def submit(self, text: str) -> str:
        (self.folder / "job.yaml").write_text(text, "utf-8")
        return self.bash("danlu submit job.yaml")

    def _run(self, command: list[str]) -> str:
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        assert ended.returncode == 0, f"{command}: {ended.stdout}"
        return ended.stdout


@pytest.fixture(scope="module")
def shell(console: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("person") / "home", console)


def snippet(tab: Tab, path: str) -> str:
    return shown(tab.go(path))


def shown(page: Page) -> str:
    return page.locator("main pre.code").first.inner_text()


def arrived(look: Callable[[], T | None]) -> T:
    """What the tracker sends arrives a moment after the script has ended."""
    found = wait_until(look)
    assert found is not None
    return found


def test_every_snippet_runs(console: RunningServer, admin: Tab, shell: Shell) -> None:
    overview, jobs = snippet(admin, "/"), snippet(admin, "/jobs")
    assert overview == jobs
    assert "trained" in shell.bash(overview)
    with console.client() as client:
        job = next(iter(client.jobs.list()))
    metrics = snippet(admin, "/experiments")
    assert snippet(admin, f"/jobs/{job.id}/metrics") == metrics
    shell.python(metrics)
    with console.client() as client:
        run = arrived(lambda: next((run for run in client.runs.list() if run.step == 99), None))
    shell.python(snippet(admin, f"/experiments/{run.id}?tab=media"))
    shell.python(snippet(admin, "/artifacts"))
    with console.client() as client:
        version = arrived(lambda: next((one.latest for one in client.artifacts.list()), None))
    shell.bash(snippet(admin, "/models"))
    shell.bash(snippet(admin, "/store?bucket=main&path=new+folder/"))
    with console.client() as client:
        [stored] = client.store.list("store://main/new folder/")
    assert stored.key.endswith("a.txt")
    (shell.folder / "model.pt").unlink()
    shell.bash(snippet(admin, f"/artifacts/{version.id}"))
    assert (shell.folder / "model.pt").read_bytes() == b"weights"
    (shell.folder / "model.pt").unlink()
    shell.bash(snippet(admin, "/models/mnist?tab=details"))
    assert (shell.folder / "model.pt").read_bytes() == b"weights"


def test_the_job_file_of_a_job_submits_the_same_job(console: RunningServer, admin: Tab, shell: Shell) -> None:
    with console.client() as client:
        job = client.jobs.submit(
            name="many things",
            command="echo one\necho 'two: # no comment'\n\n\n",
            env={"TABS": "a\tb\r\n", "LINES": "x\n\ny\n\n", "YES": "yes", "NUMBER": "007", "ODD": "\x85\u2028 \x7f"},
            tags={"key: value": "- item"},
        )
        job.wait()
    shell.submit(snippet(admin, f"/jobs/{job.id}/spec"))
    with console.client() as client:
        again = next(iter(client.jobs.list()))
        assert again.id != job.id
        assert again.details.spec == client.jobs.get(job.id).details.spec


@pytest.mark.long
def test_an_example_runs_from_a_shell(admin: Tab, shell: Shell) -> None:
    page = admin.go("/examples/hello")
    said = shell.bash(page.get_by_role("region", name="From a shell").inner_text())
    assert (shell.folder / "my-hello").is_dir(), said


def test_a_new_key_works_where_it_is_exported(admin: Tab, shell: Shell) -> None:
    page = admin.go("/profile")
    page.get_by_role("button", name="Create key").click()
    page.locator("dialog input[name=name]").fill("laptop")
    page.get_by_role("dialog").locator("button[type=submit]").click()
    exported = page.get_by_role("dialog").locator("pre.code").nth(1).inner_text()
    del shell.env["DANLU_URL"], shell.env["DANLU_API_KEY"]
    assert "many things" in shell.bash(f"{exported}\ndanlu ps --all")
