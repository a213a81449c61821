"""What one user can do to another: Eve does the worst that is allowed, while Bob lists, submits and follows a log.

Eve, two processes, opens 100 streams, requests 50 exports and sends bodies of 300 MiB, and reads no response to its
end; she opens 10 shells that she never reads, runs a job that prints 1 GB without a line feed, and submits 5,000 jobs.
The figures are Bob's p95 during the attack, divided by his p95 before. Afterwards the benchmark checks that no job or
line of his was lost, and that the server was not restarted. Run nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from danlu.client import Client, Job
from danlu.client.people.keys import parse_link, sign_in
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer
from danlu.wire.auth import SignIn

HERE = Path(__file__).parent / "abuse"
PRINTS = "python3 -u -c 'import time\nwhile True: print(time.time()); time.sleep(0.1)'"
DEEDS = ("hold", "submit")


def main() -> None:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    server = RunningServer(folder / "data", "--simulate", "npu:4", "--max-tasks", "16").start()
    try:
        figures = measure(server, seconds=30.0 if options.quick else 120.0, num_submits=1000 if options.quick else 5000)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for one in figures:
        print(f"{one['name']:<40} {one['value']:>8.3f}   gate {one['gate']}   goal {one['goal']}   (lower is better)")
    print(json.dumps({"bench": "abuse", "figures": figures}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 submits, and half a minute")
    return parser.parse_args()


def measure(server: RunningServer, *, seconds: float, num_submits: int) -> list[dict[str, object]]:
    pid = server.pid
    with server.client() as admin:
        keys = {name: _person(server, admin, name) for name in ("eve", "bob")}
    with Client(url=server.url, api_key=keys["bob"]) as bob:
        talks = bob.jobs.submit(name="talks", command=PRINTS)
        _until(talks, JobState.RUNNING)
        for _ in range(20):
            bob.jobs.submit(name="waits", command="true", resources={"device": "npu:8"})
        before = Work(bob, talks).run(seconds / 2)
        attack = _attack(server.url, keys["eve"], num_submits)
        try:
            during = Work(bob, talks).run(seconds, also_until=lambda: attack.num_submitted() >= num_submits)
        finally:
            attack.end()
        after = Work(bob, talks).run(5.0)
        lost = _lost(bob, (before, during, after))
        talks.stop()
    assert server.pid == pid, "the server was restarted"
    print(f"Eve: {attack.told()}")
    figures = []
    for name in ("list", "submit", "follow"):
        was, became, later = (work.seconds[name] for work in (before, during, after))
        print(f"{name:>7}: before {_spread(was)}, during {_spread(became)}, after {_spread(later)}")
        figures.append(_figure(f"{name}_p95_during_over_before", _p95(became) / _p95(was), 5.0, 2.0))
    return [*figures, _figure("jobs_and_lines_lost", float(lost), 0, 0)]


class Work:
    """Bob's operations, and the time each takes."""

    def __init__(self, client: Client, talks: Job) -> None:
        self._client, self._talks = client, talks
        self.seconds: dict[str, list[float]] = {"list": [], "submit": [], "follow": []}
        self.submitted: list[str] = []
        self.num_gaps = 0
        self._stop = threading.Event()

    def run(self, seconds: float, *, also_until: object = None) -> Work:
        """Work for this long, and until `also_until` is true."""
        reader = threading.Thread(target=self._follow, daemon=True)
        reader.start()
        end, most = time.monotonic() + seconds, time.monotonic() + 10 * seconds
        while time.monotonic() < end or (callable(also_until) and not also_until() and time.monotonic() < most):
            self._timed("list", lambda: list(self._client.jobs.list(limit=20, name="waits")))
            job = self._timed("submit", lambda: self._client.jobs.submit(name="bobs", command="true"))
            assert isinstance(job, Job)
            self.submitted.append(job.id)
            time.sleep(0.2)
        self._stop.set()
        reader.join(timeout=60)
        assert not reader.is_alive(), "the stream did not go on"
        return self

    def _timed(self, name: str, work: object) -> object:
        assert callable(work)
        began = time.perf_counter()
        found = work()
        self.seconds[name].append(time.perf_counter() - began)
        return found

    def _follow(self) -> None:
        """Record the age of lines on arrival; count gaps and repetitions."""
        offset = None
        for line in self._talks.logs(follow=True, tail=0):
            self.seconds["follow"].append(time.time() - float(line.text))
            self.num_gaps += offset is not None and line.offset != offset
            offset = line.offset + len(line.text) + 1
            if self._stop.is_set():
                return


class Attack:
    def __init__(self, processes: dict[str, subprocess.Popen[str]]) -> None:
        self._processes = processes
        self._said: dict[str, list[str]] = {name: [] for name in processes}
        for name, process in processes.items():
            threading.Thread(target=self._listen, args=(name, process), daemon=True).start()

    def num_submitted(self) -> int:
        said = self._said["submit"]
        return int(said[-1].split()[0]) if said else 0

    def told(self) -> str:
        return "; ".join(said[-1] if said else f"{name}: nothing" for name, said in self._said.items())

    def end(self) -> None:
        for process in self._processes.values():
            process.terminate()
            process.wait(timeout=30)

    def _listen(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._said[name].append(line.strip())


def _attack(url: str, key: str, num_submits: int) -> Attack:
    """Start Eve's processes, and wait until all her connections are open."""
    processes = {
        deed: subprocess.Popen(
            [sys.executable, str(HERE / "eve.py"), deed, url, key, str(num_submits)], stdout=subprocess.PIPE, text=True
        )
        for deed in DEEDS
    }
    attack = Attack(processes)
    while "holds" not in attack.told():
        for name, process in processes.items():
            assert process.poll() is None, f"{name} ended: {attack.told()}"
        time.sleep(0.1)
    return attack


def _person(server: RunningServer, admin: Client, name: str) -> str:
    admin.projects.make(f"{name}s")
    admin.store.make_bucket(f"{name}s", project=f"{name}s")
    link = admin.people.invite(name, project=f"{name}s", role="member")
    return sign_in(server.url, SignIn(token=parse_link(link.url).token), key_name="bench").api_key


def _lost(bob: Client, works: tuple[Work, ...]) -> int:
    """Return Bob's jobs that are missing or did not succeed, plus lines that were missing or repeated."""
    lost = sum(work.num_gaps for work in works)
    for job_id in (job_id for work in works for job_id in work.submitted):
        lost += bob.jobs.get(job_id).wait(timeout=600).state is not JobState.SUCCEEDED
    return lost


def _until(job: Job, state: JobState) -> None:
    while job.refresh().state is not state:
        time.sleep(0.05)


def _p95(values: list[float]) -> float:
    return sorted(values)[max(0, int(len(values) * 0.95) - 1)]


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values) * 1000:.0f} ms (p95 {_p95(values) * 1000:.0f}, n={len(values)})"


def _figure(name: str, value: float, gate: float, goal: float) -> dict[str, object]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal, "is_upper": True}


if __name__ == "__main__":
    main()
