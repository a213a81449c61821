"""Speed of the control plane: time from submit to the first line of user code, and behaviour under load.

Compared in the same run, alternately, with a plain subprocess and Ray Jobs (in its own virtual environment). Run
nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from danlu.client import Client, Job
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

FIRST_LINE = "import time; print(time.time(), flush=True)\n"
RAY = "ray[default]==2.60.0"
RAY_CLIENT = """
import sys, time
from ray.job_submission import JobSubmissionClient, JobStatus
client = JobSubmissionClient(sys.argv[1])
for line in sys.stdin:
    began = time.time()
    job = client.submit_job(entrypoint="python3 first_line.py", runtime_env={"working_dir": sys.argv[2]})
    while client.get_job_status(job) not in (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED):
        time.sleep(0.05)
    printed = [text for text in client.get_job_logs(job).splitlines() if text.replace(".", "").isdigit()]
    print(float(printed[0]) - began, flush=True)
"""
CHATTY = """
import sys, time
began = time.time()
for block in range(100):
    sys.stdout.write("".join(f"{block:04d}{line:06d} " + "x" * 88 + "\\n" for line in range(10000)))
    sys.stdout.flush()
    time.sleep(max(0.0, began + (block + 1) * 0.1 - time.time()))
"""


def main() -> None:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    server = RunningServer(folder / "data", "--simulate", "npu:20", "--max-tasks", "64").start()
    try:
        with server.client() as client:
            latency = measure_latency(client, folder, repeats=8 if options.quick else 20, with_ray=not options.no_ray)
            load = measure_load(server, client, num_queued=1000, num_more=300 if options.quick else 1000)
            chatty = measure_chatty(client, folder)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    figures = latency + load + chatty
    for figure in figures:
        print(f"{figure['name']:<52} {figure['value']:>10.3f}   gate {figure['gate']}   goal {figure['goal']}")
    print(json.dumps({"bench": "control_plane", "figures": figures}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--no-ray", action="store_true", help="leave Ray Jobs out")
    return parser.parse_args()


def measure_latency(client: Client, folder: Path, *, repeats: int, with_ray: bool) -> list[dict[str, object]]:
    code = folder / "code"
    code.mkdir()
    (code / "first_line.py").write_text(FIRST_LINE)
    peer = RayJobs(code) if with_ray else None
    ours: list[float] = []
    plain: list[float] = []
    ray: list[float] = []
    try:
        for _ in range(repeats):
            plain.append(_plain(code))
            ours.append(_danlu(client, code))
            if peer is not None:
                ray.append(peer.once())
    finally:
        if peer is not None:
            peer.stop()
    print(f"first line: plain {_spread(plain)}, danlu {_spread(ours)}, ray jobs {_spread(ray)}")
    figures = [figure("submit_to_first_line_seconds", statistics.median(ours), 0.6, 0.4)]
    if ray:
        ratio = statistics.median(ray) / statistics.median(ours)
        figures.append(figure("times_faster_than_ray_jobs", ratio, 3.0, 5.0))
    return figures


def _plain(code: Path) -> float:
    began = time.time()
    said = subprocess.run([sys.executable, "first_line.py"], cwd=code, capture_output=True, text=True, check=True)
    return float(said.stdout) - began


def _danlu(client: Client, code: Path) -> float:
    began = time.time()
    job = client.jobs.submit(name="first-line", command="python3 first_line.py", code={"path": str(code)})
    assert job.wait(timeout=60).state is JobState.SUCCEEDED
    return float(next(iter(job.logs())).text) - began


class RayJobs:
    """A Ray head on this machine, and a client process that submits on request."""

    def __init__(self, code: Path) -> None:
        venv = Path(".bench") / "ray"
        if not (venv / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            subprocess.run([venv / "bin" / "pip", "install", "-q", RAY], check=True)
            (venv / "ready").touch()
        bin_dir = (venv / "bin").absolute()
        self._env = {**os.environ, "PATH": f"{bin_dir}:{os.environ['PATH']}", "RAY_USAGE_STATS_ENABLED": "0"}
        self._ray = str(bin_dir / "ray")
        start = [self._ray, "start", "--head", "--port=6399", "--dashboard-port=8399", "--disable-usage-stats"]
        subprocess.run(start, env=self._env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._client = subprocess.Popen(
            [bin_dir / "python", "-c", RAY_CLIENT, "http://127.0.0.1:8399", str(code)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._env,
        )
        self.once()  # the first job includes one-time setup

    def once(self) -> float:
        assert self._client.stdin is not None
        assert self._client.stdout is not None
        self._client.stdin.write("go\n")
        self._client.stdin.flush()
        return float(self._client.stdout.readline())

    def stop(self) -> None:
        self._client.terminate()
        subprocess.run([self._ray, "stop"], env=self._env, check=False, stdout=subprocess.DEVNULL)


def measure_load(server: RunningServer, client: Client, *, num_queued: int, num_more: int) -> list[dict[str, object]]:
    """20 running jobs and `num_queued` queued ones; then `num_more` are submitted."""
    running = [
        client.jobs.submit(name="holds-a-device", command="sleep 600", resources={"device": "npu:1"}) for _ in range(20)
    ]
    for job in running:
        while job.refresh().state is not JobState.RUNNING:
            time.sleep(0.05)
    waiting, _ = _submit_many(client, num_queued)
    more, rate = _submit_many(client, num_more)
    waiting += more
    time.sleep(6)  # the scheduler records the reason why each of them waits
    idle = _cpu_share(server.pid, seconds=10)
    listing = _list_seconds(client, 100)
    began = time.monotonic()
    client.jobs.stop([job.id for job in waiting[:1000]])
    stop_request = time.monotonic() - began
    client.jobs.stop([job.id for job in waiting[1000:] + running])
    while any(job.refresh().state is not JobState.STOPPED for job in (waiting[0], waiting[-1], running[-1])):
        time.sleep(0.05)
    print(f"list of 100 of {len(running) + len(waiting)} jobs: {_spread(listing)}")
    return [
        figure("submits_per_second", rate, 100, 100),
        figure("list_p95_seconds", _p95(listing), 0.1, 0.1),
        figure("stop_1000_seconds", stop_request, 2.0, 2.0),
        figure("idle_cpu_percent", idle * 100, 2.0, 2.0),
    ]


def _submit_many(client: Client, count: int) -> tuple[list[Job], float]:
    """Submit jobs that must wait, from four threads. Return them, and the rate per second."""
    spec = {"name": "waits", "command": "true", "resources": {"device": "npu:1"}}
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        submitted = list(pool.map(lambda _: client.jobs.submit(spec), range(count)))
    return submitted, count / (time.monotonic() - began)


def measure_chatty(client: Client, folder: Path) -> list[dict[str, object]]:
    """A job that writes 100 MB in 10 s, while another user lists jobs."""
    code = folder / "chatty"
    code.mkdir()
    (code / "chatty.py").write_text(CHATTY)
    quiet = _list_seconds(client, 60)
    job = client.jobs.submit(name="chatty", command="python3 chatty.py", code={"path": str(code)})
    while job.refresh().state is not JobState.RUNNING:
        time.sleep(0.05)
    busy = _list_seconds(client, 60, pause=0.1)
    assert job.wait(timeout=120).state is JobState.SUCCEEDED
    digest, size = hashlib.sha256(), 0
    for piece in job.raw_log(0):
        digest.update(piece)
        size += len(piece)
    wanted, wanted_size = hashlib.sha256(), 0
    for block in range(100):
        text = "".join(f"{block:04d}{line:06d} " + "x" * 88 + "\n" for line in range(10000)).encode()
        wanted.update(text)
        wanted_size += len(text)
    lost = abs(wanted_size - size) if digest.digest() == wanted.digest() else max(1, abs(wanted_size - size))
    print(f"list while quiet {_spread(quiet)}, while chatty {_spread(busy)}")
    return [
        figure("chatty_list_slowdown", statistics.median(busy) / statistics.median(quiet), 2.0, 2.0),
        figure("chatty_log_bytes_lost", float(lost), 0, 0),
    ]


def _list_seconds(client: Client, times: int, pause: float = 0.0) -> list[float]:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        assert len(list(client.jobs.list(limit=100))) > 0
        taken.append(time.perf_counter() - began)
        time.sleep(pause)
    return taken


def _cpu_share(pid: int, seconds: float) -> float:
    """Share of one core that an idle process uses."""
    before = _cpu_seconds(pid)
    time.sleep(seconds)
    return (_cpu_seconds(pid) - before) / seconds


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95) - 1]


def _spread(values: list[float]) -> str:
    if not values:
        return "not measured"
    return f"{statistics.median(values):.3f} s ({min(values):.3f} to {max(values):.3f}, n={len(values)})"


def figure(name: str, value: float, gate: float, goal: float) -> dict[str, object]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}


if __name__ == "__main__":
    main()
