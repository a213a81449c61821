"""The sides of an upload, Danlu and its peers, each in a separate process."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from danlu.testing.serving import RunningServer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tracking"))
from log_speed import trackers_python  # noqa: E402


def send(server: RunningServer, what: str, name: str, path: Path) -> dict[str, Any]:
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1] / "src"), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, str(HERE / "send.py"), server.url, server.api_key, what, name, str(path)]
    said = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(said.stdout))


@contextmanager
def mlflow_server(folder: Path) -> Iterator[str]:
    """Run MLflow's server, which stores artifacts in its own folder."""
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [str(Path(trackers_python()).with_name("mlflow")), "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--workers", "2"]
    command += ["--artifacts-destination", str(folder / "kept")]
    env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    with (folder / "server.log").open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, env=env, start_new_session=True)
    try:
        _wait(f"{url}/health")
        yield url
    finally:
        os.killpg(process.pid, 15)
        process.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def peer_seconds(script: str, argument: str, files: list[Path]) -> list[float]:
    """Return a peer's seconds for each file, in sequence."""
    command = [trackers_python(), str(HERE / script), argument, *map(str, files)]
    env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    said = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return list(json.loads(said.stdout.strip().splitlines()[-1])["seconds"])


def _wait(url: str) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"nothing answers at {url}")
