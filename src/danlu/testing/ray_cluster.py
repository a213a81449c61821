"""A real Ray cluster for tests: a head and workers, each on a machine of its own (`danlu.testing.machines`)."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from danlu.testing.machines import Machines

GCS_PORT = 6379
HEAD = "head"
NUM_TRIES = 3
AGENT_PORTS = (
    "--dashboard-agent-grpc-port=52366",
    "--dashboard-agent-listen-port=52365",
    "--metrics-export-port=52367",
    "--runtime-env-agent-port=52368",
)
LIGHT = ("--include-log-monitor=false",)


class RayCluster:
    """Started nodes. The calling thread is on the head while the context of `running_ray` lasts."""

    def __init__(self, machines: Machines, folder: Path, *, token: str) -> None:
        self.machines = machines
        self.folder = folder
        self.env_of: Mapping[str, Mapping[str, str]] = {}
        """Additional variables of Ray, by machine."""

        self.address = f"{machines.addresses[HEAD]}:{GCS_PORT}"
        self.token = token
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("DANLU_", "RAY_"))},
            **(self._token_variables() if token else {"RAY_AUTH_MODE": "disabled"}),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DISABLE_IMPORT_WARNING": "1",
            "RAY_gcs_storage": "rocksdb",
            "RAY_gcs_storage_path": str(folder / "gcs"),
            "RAY_gcs_rpc_server_reconnect_timeout_s": "300",
            "RAY_health_check_failure_threshold": "12",
        }

    def _token_variables(self) -> dict[str, str]:
        """Variables for the token, which as in the guide is in a file that only root can read."""
        file = self.folder / "token"
        file.touch(mode=0o600)
        file.write_text(self.token)
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(file)}

    @property
    def server_options(self) -> tuple[str, ...]:
        """Options of `danlu up` on the head."""
        return ("--engine", "ray", "--ray-address", self.address, "--host", self.machines.addresses[HEAD])

    @property
    def server_env(self) -> dict[str, str]:
        own = {name: value for name, value in self.env.items() if name.startswith("RAY_")}
        return {**own, "DANLU_SERVER_NODE_DIR": str(self.folder / "nodes")}

    def start_head(self, *, has_dashboard: bool = False) -> None:
        # a killed head leaves this file, with which the next one refuses to start
        (self.folder / HEAD / "ray_current_cluster").unlink(missing_ok=True)
        dashboard = (f"--include-dashboard={str(has_dashboard).lower()}", "--dashboard-host=0.0.0.0")
        words = self._command(HEAD, "--head", f"--port={GCS_PORT}", *dashboard, "--num-cpus=0", "--no-monitor")
        self._start(HEAD, words)

    def start_workers(self, names: Sequence[str], *options: str) -> None:
        """Start workers sequentially: they share the head's folder, where two at once would choose the same names."""
        words = (f"--address={self.address}", "--num-cpus=4", *options)
        for name in names:
            self._start(name, self._command(name, *words))

    def _start(self, name: str, words: list[str]) -> None:
        """Start Ray with priority, because its daemon exits if its agents do not listen within 15 s."""
        env = {**self.env, **self.env_of.get(name, {})}
        for is_last in (False,) * (NUM_TRIES - 1) + (True,):
            try:
                self.machines.wait(self.machines.start(name, words, env=env, is_urgent=True))
            except RuntimeError:
                self.machines.end_all_on(name)
                if is_last:
                    raise
            else:
                self.machines.calm(name)
                return

    def _command(self, name: str, *options: str) -> list[str]:
        ray = Path(sys.executable).with_name("ray")
        machine = (f"--node-ip-address={self.machines.addresses[name]}", "--object-store-memory=100000000")
        temp = (f"--temp-dir={self.folder / name}",) if name == HEAD else ()
        return [str(ray), "start", *options, *machine, *temp, *AGENT_PORTS, *LIGHT, "--disable-usage-stats"]


@contextmanager
def running_ray(
    folder: Path,
    *,
    workers: Sequence[str] = ("one", "two"),
    has_token: bool = True,
    has_dashboard: bool = False,
    env_of: Mapping[str, Mapping[str, str]] | None = None,
    spare: Sequence[str] = (),
) -> Iterator[RayCluster]:
    """Run a cluster, with this thread on its head. Ray's sockets need a short path: use a folder directly in /tmp.

    `spare`: machines that exist but have not joined.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Machines((HEAD, *workers, *spare), folder / "machines.log") as machines:
        token = secrets.token_hex(16) if has_token else ""
        cluster = RayCluster(machines, folder, token=token)
        cluster.env_of = env_of or {}
        cluster.start_head(has_dashboard=has_dashboard)
        cluster.start_workers(workers)
        with machines.enter(HEAD):
            yield cluster
