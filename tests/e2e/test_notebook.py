"""JupyterLab and TensorBoard inside a running job, through the proxy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.endpoints import Browser
from websockets.sync.client import ClientConnection

from danlu.client.jobs.job import Job
from danlu.testing.gates import HOLD
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

pytest.importorskip("jupyterlab")
pytest.importorskip("tensorboard")

TRAIN = """
import math
from danlu import track
run = track.start(name="own metrics")
for step in range(5):
    run.log({"loss": 1 / (step + 1), "bad": math.inf}, step=step)
run.finish()
print("trained", flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("notebook") / "data").start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def job(server: RunningServer) -> Iterator[Job]:
    """Trains, and then waits; both services are asked for in the job file."""
    with server.client() as client:
        command = f"python3 -c '{TRAIN}' && {HOLD}"
        made = client.jobs.submit({"name": "nb", "command": command, "endpoints": ["jupyter", "tensorboard"]})
        for line in made.logs(follow=True):
            if line.text == "trained":
                break
        yield made
        server.let_go(made.id)
        assert made.wait().state == "succeeded"  # what Danlu started beside it ends with it


def test_a_kernel_executes_and_survives_the_server(server: RunningServer, job: Job) -> None:
    with Notebook(job) as notebook:
        assert "JupyterLab" in notebook.browser.get("/lab").text
        kernel = notebook.json("POST", "/api/kernels", {})["id"]
        assert notebook.execute(kernel, "import os; kept = 40; print(os.environ['DANLU_JOB_ID'])") == f"{job.id}\n"
    server.kill()
    server.start()
    with Notebook(job) as notebook:
        assert notebook.execute(kernel, "print(kept + 2)") == "42\n"


def test_a_terminal_works(job: Job) -> None:
    with Notebook(job) as notebook:
        name = notebook.json("POST", "/api/terminals", {})["name"]
        with notebook.browser.websocket(f"/terminals/websocket/{name}") as opened:
            opened.send(json.dumps(["stdin", "echo $((6 * 7))-$DANLU_RANK\r"]))
            seen = ""
            while "42-0" not in seen:
                seen += str(opened.recv())


def test_tensorboard_shows_the_metrics_of_the_run(job: Job) -> None:
    with Browser(job.endpoints.link("tensorboard").url).enter() as browser:
        assert "TensorBoard" in browser.get("/").text

        def series() -> Any:
            tags = browser.get("/data/plugin/scalars/tags").json()
            return next(((run, tag) for run, of_run in tags.items() for tag in of_run if tag.endswith("loss")), None)

        run, tag = wait_until(series, lambda: browser.get("/data/plugin/scalars/tags").text)
        assert (run.startswith("runs/"), tag) == (True, "train/loss")
        points = browser.http.get("/data/plugin/scalars/scalars", params={"run": run, "tag": tag}).json()
        assert [step for _, step, _ in points] == list(range(5))
        assert [value for _, _, value in points] == pytest.approx([1 / (step + 1) for step in range(5)])


def test_tensorboard_of_a_job_that_is_over(server: RunningServer, tmp_path: Path) -> None:
    with server.client() as client:
        ended = client.jobs.submit(name="trained", command=f"python3 -c '{TRAIN}'").wait()
        assert ended.state == "succeeded"
        env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "HOME": str(tmp_path)}
        words = [sys.executable, "-m", "danlu", "open", ended.id, "tensorboard"]
        opened = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        assert opened.returncode == 0, opened.stderr
        viewer = next(job for job in client.jobs.list() if job.name == "tensorboard-trained")
        with Browser(opened.stdout.strip()).enter() as browser:
            tags = wait_until(lambda: scalars(browser), lambda: "".join(line.text for line in viewer.logs()))
            assert tags == {f"runs/{next(iter(client.runs.list(job=ended.id))).id}": {"train/loss", "train/bad"}}
        again = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        assert viewer.id in again.stdout, "one shows it already"
        viewer.stop().wait()


def scalars(browser: Browser) -> dict[str, set[str]]:
    answer = browser.get("/data/plugin/scalars/tags")
    return {run: set(tags) for run, tags in answer.json().items()} if answer.status_code == 200 else {}


def test_what_is_not_installed_is_named(make_server: Callable[..., RunningServer]) -> None:
    server = make_server()
    with server.client() as client:
        job = client.jobs.submit(
            {"name": "bare", "command": f"echo up; {HOLD}", "env": {"PATH": "/usr/bin:/bin"}, "endpoints": ["jupyter"]}
        )
        for _ in job.logs(follow=True):
            break
        with Browser(job.endpoints.link("jupyter").url).enter() as browser:
            told = browser.get("/")
            assert (told.status_code, told.json()["error"]) == (501, "Unsupported")
            assert "jupyterlab is not installed in the environment of the job" in told.json()["message"]


def test_a_job_that_is_a_notebook(server: RunningServer, tmp_path: Path) -> None:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "danlu", "notebook", "--name", "mine"]
    link = subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout.strip()
    with Browser(link).enter() as browser:
        assert "JupyterLab" in browser.get("/lab").text
    with server.client() as client:
        client.jobs.get("mine").stop()


class Notebook:
    """A browser in JupyterLab."""

    def __init__(self, job: Job) -> None:
        self.browser = Browser(job.endpoints.link("jupyter").url).enter()
        answer = self.browser.get("/lab")
        self._xsrf = next(value for value in answer.headers.get_list("set-cookie") if value.startswith("_xsrf="))
        self._xsrf = self._xsrf.partition(";")[0]
        self.browser.http.headers["Cookie"] += f"; {self._xsrf}"

    def __enter__(self) -> Notebook:
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.http.close()

    def json(self, method: str, path: str, body: object) -> Any:
        headers = {"X-XSRFToken": self._xsrf.partition("=")[2]}
        answer: httpx.Response = self.browser.http.request(method, path, json=body, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def execute(self, kernel: str, code: str) -> str:
        """What some code prints."""
        with self.browser.websocket(f"/api/kernels/{kernel}/channels") as opened:
            return _execute(opened, code)


def _execute(opened: ClientConnection, code: str) -> str:
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": "execute_request",
        "username": "",
        "session": "s",
        "version": "5.3",
    }
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False, "stop_on_error": True}
    opened.send(
        json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"})
    )
    printed = ""
    while True:
        message = json.loads(opened.recv())
        if message["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        if message["msg_type"] == "stream":
            printed += message["content"]["text"]
        elif message["msg_type"] == "error":
            raise AssertionError(message["content"])
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return printed
