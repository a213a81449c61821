"""The ways to upload an artifact, each timed until the version exists on the server.

sdk     `client.artifacts.send` in a separate process
track   `track.artifact(...).add_file(...).upload()` beside a server: the companion sends
sync    `track.artifact(...).add_file(...)` with no server, then `danlu sync`
job     the same script in a job: the node sends
The last three also copy the file to the run's folder first; users wait for that, so it is included.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sides import HERE, send

from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

SOURCE = str(HERE.parents[1] / "src")
MAKE = """
import os, pathlib, sys
write_checkpoint(pathlib.Path(sys.argv[2]), int(sys.argv[4]), seed=sys.argv[1])
os.sync()
"""
ADD = """
import sys, time
from danlu import track
name, path, how = sys.argv[1:4]
track.start(name + "-begun").finish()  # the companion is there in a training that logs
began = time.time()
made = track.artifact(name).add_file(path)
made.upload() if how == "upload" else made.finish()
print(began, time.time(), flush=True)
"""


def by_sdk(server: RunningServer, name: str, path: Path, _work: Path) -> float:
    return float(send(server, "upload", name, path)["seconds"])


def by_track(server: RunningServer, name: str, path: Path, work: Path) -> float:
    began, ended = _add(work, name, path, "upload", DANLU_URL=server.url, DANLU_API_KEY=server.api_key)
    return ended - began


def by_sync(server: RunningServer, name: str, path: Path, work: Path) -> float:
    began, added = _add(work, name, path, "finish", DANLU_TRACK="offline")
    os.sync()
    ready = time.time()
    env = _environment(work, DANLU_URL=server.url, DANLU_API_KEY=server.api_key)
    command = [sys.executable, "-m", "danlu", "sync", "--json"]
    said = json.loads(subprocess.run(command, cwd=work, env=env, check=True, capture_output=True).stdout)
    assert [one["problem"] for one in said if "artifact_id" in one] == [""], said
    return added - began + time.time() - ready


def by_job(server: RunningServer, name: str, path: Path, work: Path) -> float:
    code = work / "code"
    code.mkdir()
    (code / "add.py").write_text(f"from checkpoint import write_checkpoint\n{MAKE}\n{ADD}")
    shutil.copy(HERE / "checkpoint.py", code)
    size = path.stat().st_size
    with server.client() as client:
        command = f"python add.py {name} model.pt finish {size}"
        job = client.jobs.submit(name=name, command=command, code={"path": str(code)}, env={"PYTHONPATH": SOURCE})
        assert job.wait().state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())
        began = next(float(words[0]) for line in job.logs() if len(words := line.text.split()) == 2)
        return client.artifacts.get(name).created_at.timestamp() - began


WAYS: dict[str, Callable[[RunningServer, str, Path, Path], float]] = {
    "sdk": by_sdk,
    "track": by_track,
    "sync": by_sync,
    "job": by_job,
}


def measured(way: str, server: RunningServer, name: str, path: Path, work: Path) -> float:
    """Return seconds; deletes the files of the way."""
    work.mkdir(parents=True)
    try:
        return WAYS[way](server, name, path, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _add(work: Path, name: str, path: Path, how: str, **more: str) -> tuple[float, float]:
    (work / "add.py").write_text(ADD)
    command = [sys.executable, "add.py", name, str(path), how]
    done = subprocess.run(command, cwd=work, env=_environment(work, **more), check=True, capture_output=True, text=True)
    began, ended = done.stdout.split()
    assert done.stderr == "", done.stderr
    return float(began), float(ended)


def _environment(work: Path, **more: str) -> dict[str, str]:
    outer = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
    own = {"PYTHONPATH": SOURCE, "DANLU_CONFIG": str(work / "none.yml"), "XDG_RUNTIME_DIR": str(work)}
    return {**outer, **own, **more}
