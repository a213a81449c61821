"""Every other way to the server is hurt: `danlu sync`, a job and MLflow's door are killed, cut off and left without
room. What was acknowledged is there at the end, and no version is a part of an artifact."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.faults.conftest import small_disk
from tests.long.track.test_companion_killed import check_all_arrived
from tests.support.artifact_kills import check_artifacts
from tests.support.bad_line import BadLine

import danlu
from danlu.spec.states import JobState
from danlu.testing.disks import SmallDisk
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.long
__all__ = ["small_disk"]  # a fixture
SOURCE = str(Path(danlu.__file__).parents[1])
NUM_RUNS, NUM_KILLS, FILE_BYTES = 6, 6, 300_000
DOOR = "/compat/mlflow/api/2.0"
TRAINS = """
import os, sys, time
from danlu import track
for number in range(int(sys.argv[1])):
    with open("model.pt", "wb") as file:
        file.write(os.urandom(300_000))
    with track.start(f"hurt {number}") as run:
        for step in range(500):
            run.log({"loss": step}, step=step, flush=step % 50 == 0)
        run.mark_output(track.artifact("killed/model").add_file("model.pt"))
    time.sleep(float(sys.argv[2]))
print("done", flush=True)
"""

TRAINS_ON = """
import logging, sys, time
from danlu import track

class Keep(logging.Handler):  # a print would end the script while there is no room
    told = []
    def emit(self, record):
        self.told.append(record.getMessage())

logging.getLogger("danlu.track").addHandler(Keep())
for number in range(int(sys.argv[1])):
    if number == 1:
        print("run 1", flush=True)
    with track.start(f"hurt {number}") as run:
        for step in range(500):
            run.log({"loss": step}, step=step)
            time.sleep(0.003)
        made = track.artifact("killed/model")
        for part in range(3):
            made.add_file("part.bin", f"{part}.bin")
        run.mark_output(made)
print(*Keep.told, sep="\\n")
"""


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    outer = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
    (tmp_path / "runtime").mkdir(exist_ok=True)
    own = {"PYTHONPATH": SOURCE, "XDG_RUNTIME_DIR": str(tmp_path / "runtime"), "DANLU_CONFIG": str(tmp_path / "none")}
    return {**outer, **own, **more}


def train_offline(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TRAINS, str(NUM_RUNS), "0"]
    subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path, DANLU_TRACK="offline"), check=True, timeout=HANG_SECONDS
    )
    # its companion may still be writing down what it found around the script
    wait_until(lambda: not list((tmp_path / "runtime").rglob("orders/*.json")))


def let_work(seconds: float) -> None:
    """Let senders be somewhere in the middle, wherever that is on this machine."""
    threading.Event().wait(seconds)


class Sync:
    """`danlu sync` of what was trained here."""

    def __init__(self, tmp_path: Path, url: str, key: str) -> None:
        self._folder, self._env = tmp_path, environment(tmp_path, DANLU_URL=url, DANLU_API_KEY=key)

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "danlu", "sync", "--json"]
        return subprocess.Popen(
            command, cwd=self._folder, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def to_its_end(self) -> list[str]:
        """Why something is not there, empty texts where it is."""
        child = self.start()
        out, err = child.communicate(timeout=HANG_SECONDS)
        return [one["problem"] for one in json.loads(out)] if out else [err.decode()]


def test_a_sync_that_is_killed_again_and_again(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    calm, hurt = tmp_path / "calm", tmp_path / "hurt"
    for folder in (calm, hurt):
        folder.mkdir()
        train_offline(folder)
    server = make_server()
    began = time.monotonic()
    assert set(Sync(calm, server.url, server.api_key).to_its_end()) == {""}
    seconds = time.monotonic() - began
    server = make_server()
    sync = Sync(hurt, server.url, server.api_key)
    chance = random.Random(1)
    for _ in range(NUM_KILLS):
        child = sync.start()
        let_work(chance.uniform(0.3, 1.0) * seconds)
        child.kill()
        child.communicate()
        check_artifacts(server.data_dir)
    assert set(sync.to_its_end()) == {""}
    check_all_arrived(server, hurt, num_runs=NUM_RUNS, num_versions=NUM_RUNS)
    check_artifacts(server.data_dir)


def test_a_sync_over_a_line_that_ends_connections(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    server = make_server()
    train_offline(tmp_path)
    line = BadLine(server.url)
    line.idle_seconds = 0.01
    line.cut("request", 0.1, 200_000)
    line.cut("answer", 0.1, 2_000)
    try:
        sync = Sync(tmp_path, line.url, server.api_key)
        wait_until(lambda: set(sync.to_its_end()) == {""})
    finally:
        line.go()
    check_all_arrived(server, tmp_path, num_runs=NUM_RUNS, num_versions=NUM_RUNS)


def test_a_sync_to_a_server_without_room(small_disk: Callable[[Path, str], SmallDisk], tmp_path: Path) -> None:
    server = RunningServer(tmp_path / "data")
    disk = small_disk(server.data_dir, "64m")
    server.start()
    try:
        train_offline(tmp_path)
        sync = Sync(tmp_path, server.url, server.api_key)
        for room in (0, 1 << 20):
            disk.fill(leave_bytes=room)
            assert set(sync.to_its_end()) != {""}
            disk.empty()
            check_artifacts(server.data_dir)
        wait_until(lambda: set(sync.to_its_end()) == {""})
        check_all_arrived(server, tmp_path, num_runs=NUM_RUNS, num_versions=NUM_RUNS)
    finally:
        server.kill()


def submit_training(server: RunningServer, tmp_path: Path) -> str:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(TRAINS)
    with server.client() as client:
        command = f"python train.py {NUM_RUNS} 1"
        job = client.jobs.submit(name="hurt", command=command, code={"path": str(code)}, env={"PYTHONPATH": SOURCE})
        wait_until(lambda: job.refresh().state is JobState.RUNNING)
        return job.id


def check_training(server: RunningServer, job_id: str) -> None:
    with server.client() as client:
        job = client.jobs.get(job_id)
        assert job.wait().state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())
        runs = [run for run in client.runs.list(job=job.id) if not run.is_own]
        wait_until(lambda: {client.runs.get(run.id).details.num_points for run in runs} == {500})
        assert len(runs) == NUM_RUNS
        versions = list(client.artifacts.versions("killed/model"))
        assert {one.size for one in versions} == {FILE_BYTES}
        assert sorted(one.version for one in versions) == list(range(1, NUM_RUNS + 1))
    check_artifacts(server.data_dir)


def test_a_job_whose_server_is_killed(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    server = make_server()
    job_id = submit_training(server, tmp_path)
    for _ in range(3):
        let_work(1.5)
        server.kill()
        server.start()
    check_training(server, job_id)


def test_a_job_over_a_line_that_ends_connections(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    server = make_server()
    line = BadLine(server.url)
    server.kill()
    server.env["DANLU_SERVER_PUBLIC_URL"] = line.url  # the way that jobs go
    server.start()
    line.idle_seconds = 0.01
    line.cut("request", 0.1, 200_000)
    line.cut("answer", 0.1, 2_000)
    try:
        check_training(server, submit_training(server, tmp_path))
        assert line.closed.acquire(blocking=False), "a connection was idle"
    finally:
        line.go()


def test_a_job_without_room(small_disk: Callable[[Path, str], SmallDisk], tmp_path: Path) -> None:
    """Its journals and copies are on the disk that is full: no value is lost, no version is a part of an artifact, and
    an artifact that is missing was told of."""
    server = RunningServer(tmp_path / "data")
    disk = small_disk(server.data_dir, "96m")
    code, num_runs = tmp_path / "code", 2 * NUM_RUNS
    code.mkdir()
    (code / "train.py").write_text(TRAINS_ON)
    (code / "part.bin").write_bytes(os.urandom(FILE_BYTES))
    server.start()
    try:
        with server.client() as client:
            job = client.jobs.submit(
                name="hurt", command=f"python train.py {num_runs}", code={"path": str(code)}, env={"PYTHONPATH": SOURCE}
            )
            wait_until(lambda: "run 1" in [line.text for line in job.logs(follow=False)])
            for _ in range(2):
                disk.fill()
                let_work(1.5)
                disk.empty()
                let_work(1.5)
            assert job.wait().state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())
            told = "\n".join(line.text for line in job.logs())
            assert "cannot be written" in told
            runs = [client.runs.get(run.id) for run in client.runs.list(job=job.id) if not run.is_own]
            assert len(runs) == num_runs, told
            for run in runs:
                wait_until(lambda run=run: run.refresh().details.state == "finished", lambda: told)  # type: ignore[misc]
                assert run.points("train/loss").step == list(range(500)), told
            versions = list(client.artifacts.versions("killed/model"))
            assert {(one.num_files, one.size) for one in versions} == {(3, 3 * FILE_BYTES)}
            num_missing = told.count("is incomplete") + told.count("could not be begun")
            assert len(versions) + num_missing == num_runs, told
        check_artifacts(server.data_dir)
    finally:
        server.kill()


class Door:
    """What MLflow's client sends, and what of it was acknowledged."""

    def __init__(self, url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self.http = httpx.Client(base_url=f"{url}{DOOR}", headers=headers, timeout=HANG_SECONDS)
        self.acknowledged: set[int] = set()
        self.files: dict[str, int] = {}
        self.run = self.http.post("/mlflow/runs/create", json={"experiment_id": "0"}).json()["run"]["info"]["run_id"]
        self._is_over = threading.Event()

    def send(self) -> None:
        """Until it is told to stop. A failure is passed over, as the script goes on."""
        for number in range(1_000_000):
            if self._is_over.is_set():
                return
            steps = range(number * 10, number * 10 + 10)
            points = [{"key": "m", "value": step, "timestamp": 1, "step": step} for step in steps]
            try:
                body = {"run_id": self.run, "metrics": points}
                if self.http.post("/mlflow/runs/log-batch", json=body).status_code == 200:
                    self.acknowledged |= set(steps)
                if number % 5 == 0:
                    name, data = f"{number}.bin", os.urandom(20_000)
                    place = f"/mlflow-artifacts/artifacts/runs/{self.run}/{name}"
                    self.files[name] = len(data)
                    self.http.put(place, content=data)
            except httpx.TransportError:
                self._is_over.wait(0.05)

    def stop(self, sender: threading.Thread) -> None:
        self._is_over.set()
        sender.join()

    def check(self, url: str) -> None:
        """All that was acknowledged is there, and every file is whole."""
        self.http.base_url = f"{url}{DOOR}"
        found: set[Any] = set()
        token = ""
        while True:
            query = {"run_id": self.run, "metric_key": "m", "page_token": token}
            page = self.http.get("/mlflow/metrics/get-history", params=query).json()
            found |= {point["step"] for point in page["metrics"]}
            token = page.get("next_page_token", "")
            if not token:
                break
        assert self.acknowledged
        assert self.acknowledged <= found
        listed = self.http.get("/mlflow/artifacts/list", params={"run_id": self.run}).json().get("files", [])
        assert {one["path"]: int(one["file_size"]) for one in listed}.items() <= self.files.items()
        self.http.close()


def test_the_door_for_mlflow_whose_server_is_killed(make_server: Callable[..., RunningServer]) -> None:
    server = make_server()
    door = Door(server.url, server.api_key)
    sender = threading.Thread(target=door.send, daemon=True)
    sender.start()
    for _ in range(4):
        before = len(door.acknowledged)
        wait_until(lambda before=before: len(door.acknowledged) > before + 100)  # type: ignore[misc]
        server.kill()
        server.start()
    door.stop(sender)
    door.check(server.url)


def test_the_door_for_mlflow_over_a_line_that_ends_connections(make_server: Callable[..., RunningServer]) -> None:
    server = make_server()
    line = BadLine(server.url)
    try:
        door = Door(line.url, server.api_key)
        line.idle_seconds = 0.001
        line.cut("request", 0.1, 20_000)
        line.cut("answer", 0.1, 1_000)
        sender = threading.Thread(target=door.send, daemon=True)
        sender.start()
        wait_until(lambda: len(door.acknowledged) > 2000)
        door.stop(sender)
        assert line.num_connections > 10
    finally:
        line.go()
    door.check(server.url)


def test_the_door_for_mlflow_without_room(small_disk: Callable[[Path, str], SmallDisk], tmp_path: Path) -> None:
    server = RunningServer(tmp_path / "data")
    disk = small_disk(server.data_dir, "64m")
    server.start()
    try:
        door = Door(server.url, server.api_key)
        sender = threading.Thread(target=door.send, daemon=True)
        sender.start()
        for _ in range(2):
            before = len(door.acknowledged)
            wait_until(lambda before=before: len(door.acknowledged) > before + 100)  # type: ignore[misc]
            disk.fill()
            let_work(1)
            disk.empty()
        door.stop(sender)
        door.check(server.url)
    finally:
        server.kill()
