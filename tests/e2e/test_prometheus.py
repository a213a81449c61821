"""Debian's Prometheus scrapes a real server as the guide sets it up, and the dashboard finds its values."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from danlu.server.monitoring.names import METRICS
from danlu.testing.ports import free_port
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

DOCS = Path(__file__).parents[2] / "docs"
NOTHING_HERE = {"danlu_task_device_busy_ratio", "danlu_task_device_memory_bytes", "danlu_task_memory_limit_bytes"}
"""Values that a server with simulated devices, and a job without a memory limit, does not have."""


def test_prometheus_scrapes_and_the_dashboard_finds_everything(tmp_path: Path) -> None:
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed; scripts/system-packages.sh tests installs it")
    token = tmp_path / "metrics.token"
    token.write_text("a long random word\n")
    server = RunningServer(tmp_path / "data", "--simulate", "npu:910b:8")
    server.env["DANLU_SERVER_METRICS_TOKEN_FILE"] = str(token)
    server.start()
    try:
        with server.client() as client, _prometheus(tmp_path, server, token) as ask:
            job = client.jobs.submit(name="mnist", command="sleep infinity", resources={"device": "npu:910b:2"})
            waits = client.jobs.submit(name="waits", command="true", resources={"device": "npu:910b:8"})
            held = f'danlu_job_info{{job_id="{job.id}",name="mnist",state="running"}}'
            wait_until(lambda: ask(held) and ask("danlu_queue_jobs") and ask("danlu_task_cpu_cores"))
            assert [float(one["value"][1]) for one in ask("sum(danlu_devices_held)")] == [2.0]
            assert [one["value"][1] for one in ask("up")] == ["1"]
            names = {metric.name + ("_bucket" if metric.kind == "histogram" else "") for metric in METRICS}
            asked = [one for one in (*names, *_expressions()) if not any(name in one for name in NOTHING_HERE)]
            # rates need two scrapes
            wait_until(lambda: all(ask(one) for one in asked), lambda: str([one for one in asked if not ask(one)]))
            client.jobs.stop([job, waits])
            job.wait()
            wait_until(lambda: not ask(held))
    finally:
        server.stop()


def _expressions() -> list[str]:
    """Of the dashboard."""
    board = json.loads((DOCS / "monitoring/grafana.json").read_text())
    found: list[str] = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(found) > 20
    return found


@contextmanager
def _prometheus(folder: Path, server: RunningServer, token: Path) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """Run it with the configuration of the guide; yield what answers queries."""
    config = (DOCS / "guide/monitoring.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    for guide, here in (("127.0.0.1:8400", server.url.removeprefix("http://")), ("metrics.token", str(token))):
        assert guide in config, guide
        config = config.replace(guide, here)
    (folder / "prometheus.yml").write_text(f"global:\n  scrape_interval: 2s\n  scrape_timeout: 2s\n{config}")
    port = free_port()
    words = ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    with (folder / "prometheus.log").open("wb") as log:
        running = subprocess.Popen([*words, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=None, trust_env=False) as http:

            def ask(expr: str) -> list[dict[str, Any]]:
                answer = http.get("/api/v1/query", params={"query": expr}).json()
                assert answer["status"] == "success", (expr, answer)
                found: list[dict[str, Any]] = answer["data"]["result"]
                return found

            try:
                wait_until(lambda: _is_ready(http), (folder / "prometheus.log").read_text)
                yield ask
            finally:
                running.terminate()
                running.wait()


def _is_ready(http: httpx.Client) -> bool:
    try:
        return http.get("/-/ready").status_code == 200
    except httpx.HTTPError:
        return False
