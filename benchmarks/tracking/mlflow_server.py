"""MLflow's HTTP server, in the virtual environment of the trackers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from log_speed import trackers_python


class Mlflow:
    """MLflow's HTTP server on a SQLite file."""

    def __init__(self, folder: Path) -> None:
        self._python = Path(trackers_python())
        self._folder = folder
        folder.mkdir(parents=True)
        self._database = folder / "mlflow.db"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        command = [str(self._python.with_name("mlflow")), "server", "--host", "127.0.0.1", "--port", str(self._port)]
        command += ["--backend-store-uri", f"sqlite:///{self._database}", "--workers", "4"]
        env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
        with (self._folder / "server.log").open("ab") as output:
            self._process = subprocess.Popen(
                command, cwd=self._folder, stdout=output, stderr=output, env=env, start_new_session=True
            )
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError(f"MLflow did not come up: {(self._folder / 'server.log').read_text()[-2000:]}")

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, 15)
            self._process.wait(timeout=30)

    def fill(self, num_runs: int, num_points: int, num_curves: int = 1) -> Any:
        """Insert runs, the newest `num_curves` of them with a long series, while the server is stopped."""
        return self.ask("fill", self._database, num_runs, num_points, num_curves)

    def ask(self, *words: object) -> Any:
        said = subprocess.run(self.command(*words), stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(said.stdout.strip().splitlines()[-1])

    def command(self, *words: object) -> list[str]:
        return [str(self._python), str(Path(__file__).with_name("mlflow_peer.py")), *map(str, words)]
