"""What happens to a training on a Ray cluster when parts of the cluster are killed or cut off.

With `--update-golden` the table of what was seen is written to docs/guide/cluster-faults.md.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.node.supervise.processes import descendants, processes
from danlu.spec.states import JobState
from danlu.testing.machines import SWITCH, can_make_machines
from danlu.testing.ray_cluster import HEAD, RayCluster, running_ray
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_make_machines(), reason="making machines needs root and iproute2"),
]

TABLE = Path(__file__).parents[2] / "docs" / "guide" / "cluster-faults.md"
COUNT = """
import os, time
number = 0
while not os.path.exists("go"):
    print(number, flush=True)
    number += 1
    time.sleep(0.02)
print("end of", number, flush=True)
"""
COUNT_WITH_TIMES = COUNT.replace("print(number,", "print(number, time.time(),")
LEASE_SECONDS = 240


@dataclass
class Table:
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def add(self, killed: str, seen: str, seconds: float, compared: str) -> None:
        self.rows.append((killed, seen, f"{seconds:.0f} s", compared))

    def write(self) -> None:
        head = (
            "<!-- written by tests/long/test_ray_faults.py --update-golden -->\n"
            "# Faults of a Ray cluster, as the tests saw them\n\n"
            "Three nodes on one busy machine with two cores, each with a network of its own. A job on both prints\n"
            "a number every 20 ms. `after`: from the fault until the user saw what the second column says.\n\n"
            "| fault | what the user saw | after | bytes compared |\n|---|---|---|---|\n"
        )
        lines = {row[0]: f"| {' | '.join(row)} |\n" for row in self.rows}
        for line in TABLE.read_text().splitlines(keepends=True)[head.count("\n") :]:
            lines.setdefault(line.split(" | ")[0].removeprefix("| "), line)  # faults that were not tried this time
        TABLE.write_text(head + "".join(lines[fault] for fault in sorted(lines)))


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    made = Table()
    yield made
    if request.config.getoption("--update-golden"):
        made.write()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    with running_ray(folder) as running:
        yield running
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def ray_server(cluster: RayCluster) -> Iterator[RunningServer]:
    running = RunningServer(cluster.folder / "data", *cluster.server_options, within=cluster.machines.within(HEAD))
    running.env = {**cluster.server_env, "DANLU_SERVER_LEASE_SECONDS": str(LEASE_SECONDS)}
    yield running.start()
    running.stop()


@dataclass
class Training:
    """A job that counts on both workers, and what must be true of it at its end."""

    cluster: RayCluster
    server: RunningServer
    client: Client
    job: Job

    @classmethod
    def begin(cls, cluster: RayCluster, server: RunningServer, folder: Path, **fields: Any) -> Training:
        (folder / "count.py").write_text(COUNT)
        client = server.client()
        wait_until(lambda: sum(node.is_reachable for node in client.nodes()) == 2, lambda: list(client.nodes()))
        code = {"path": str(folder)}
        job = client.jobs.submit(name="count", command="python3 count.py", nodes=2, code=code, **fields)
        made = cls(cluster, server, client, job)
        for rank in range(2):
            wait_until(partial(made.has_counted, rank), lambda: job.refresh().row)
        return made

    def has_counted(self, rank: int) -> bool:
        return b"\n20\n" in self.log(rank)

    def log(self, rank: int, attempt: int | None = None) -> bytes:
        return b"".join(self.job.raw_log(rank, attempt=attempt))

    def wait_for_reason(self, code: str) -> None:
        wait_until(lambda: self.job.refresh().reason.code == code, lambda: (self.job.row, self.server.said()[-3000:]))

    def wait_for_growth(self) -> None:
        before = [len(self.log(rank)) for rank in range(2)]
        wait_until(
            lambda: all(len(self.log(rank)) > before[rank] for rank in range(2)),
            lambda: (self.job.refresh().row, self.server.said()[-3000:]),
        )

    def finish(self) -> str:
        """Let it end well, compare every byte of both logs, and say how many."""
        for node in (self.cluster.folder / "nodes").glob(f"*/*/{self.job.id}/1/*/ml/code"):
            (node / "go").touch()
        assert self.job.wait().state is JobState.SUCCEEDED, self.job.reason
        logs = [self.log(rank) for rank in range(2)]
        for log in logs:
            count = int(log.split()[-1])
            assert log == b"".join(b"%d\n" % number for number in range(count)) + b"end of %d\n" % count
        assert [event.attempt for event in self.job.events()][-1] == 1
        self.client.close()
        return f"{sum(map(len, logs)):,} of the log, none missing"


def test_the_server_is_killed(cluster: RayCluster, ray_server: RunningServer, tmp_path: Path, table: Table) -> None:
    training = Training.begin(cluster, ray_server, tmp_path)
    killed_at = time.monotonic()
    ray_server.kill()
    ray_server.start()
    training.wait_for_growth()
    seconds = time.monotonic() - killed_at
    table.add("server: `kill -9`, started again", "the log goes on", seconds, training.finish())


def test_an_agent_is_killed(cluster: RayCluster, ray_server: RunningServer, tmp_path: Path, table: Table) -> None:
    training = Training.begin(cluster, ray_server, tmp_path)
    killed_at = time.monotonic()
    kill(cluster, "one", "ray::Agent")
    training.wait_for_growth()
    seconds = time.monotonic() - killed_at
    table.add("agent of a node: `kill -9`", "the log goes on", seconds, training.finish())


def test_an_agent_hangs_while_a_job_starts(
    cluster: RayCluster, ray_server: RunningServer, tmp_path: Path, table: Table
) -> None:
    """Nobody knows whether its part was started: it is neither given up nor started a second time."""
    with ray_server.client() as client:
        wait_until(lambda: sum(node.is_reachable for node in client.nodes()) == 2, lambda: list(client.nodes()))
        hung_at = time.monotonic()
        kill(cluster, "one", "ray::Agent", how=signal.SIGSTOP)
        job = client.jobs.submit(name="starts", command="echo $DANLU_RANK", nodes=2)
        wait_until(lambda: "does not answer" in job.refresh().reason.message, lambda: job.row)
        seen = time.monotonic() - hung_at
        assert job.state is JobState.STARTING
        kill(cluster, "one", "ray::Agent", how=signal.SIGCONT)
        assert job.wait().state is JobState.SUCCEEDED, job.reason
        assert len(job.details.attempts) == 1
        said = sorted(line.text.strip() for line in job.logs())
        assert said == ["0", "1"]
    told = f"the job stays `starting` and says so after {seen:.0f} s; it ran, once, when the agent went on"
    seconds = time.monotonic() - hung_at
    table.add("agent of a node: hangs while a job starts", told, seconds, "4 of the log, none twice")


def test_the_process_that_speaks_to_ray_hangs(
    cluster: RayCluster, ray_server: RunningServer, tmp_path: Path, table: Table
) -> None:
    training = Training.begin(cluster, ray_server, tmp_path)
    hung_at = time.monotonic()
    os.kill(driver_of(ray_server), signal.SIGSTOP)
    training.wait_for_reason("unreachable")
    seen = time.monotonic() - hung_at
    training.wait_for_reason("running")
    training.wait_for_growth()
    told = f"`unreachable` after {seen:.0f} s, then `running`, and the log goes on: the server started another one"
    seconds = time.monotonic() - hung_at
    table.add("process that speaks to Ray: hangs", told, seconds, training.finish())


def test_a_raylet_is_killed_and_the_node_started_again(
    cluster: RayCluster, ray_server: RunningServer, tmp_path: Path, table: Table
) -> None:
    training = Training.begin(cluster, ray_server, tmp_path)
    killed_at = time.monotonic()
    kill(cluster, "one", "/raylet/raylet ")
    training.wait_for_reason("unreachable")
    seen = time.monotonic() - killed_at
    cluster.start_workers(["one"])
    training.wait_for_reason("running")
    training.wait_for_growth()
    told = f"`unreachable` after {seen:.0f} s; `running` and the log goes on once `ray start` was repeated"
    table.add("raylet: `kill -9`", told, time.monotonic() - killed_at, training.finish())


def test_a_link_is_down_for_30_seconds(
    cluster: RayCluster, ray_server: RunningServer, tmp_path: Path, table: Table
) -> None:
    training = Training.begin(cluster, ray_server, tmp_path)
    cut_at = time.monotonic()
    cluster.machines.cut("one")
    cluster.machines.run(SWITCH, ["sleep", "30"])
    training.wait_for_reason("unreachable")
    cluster.machines.mend("one")
    training.wait_for_reason("running")
    training.wait_for_growth()
    seconds = time.monotonic() - cut_at
    told = "`unreachable`, then `running`, and the log goes on"
    table.add("link of a node: down for 30 s", told, seconds, training.finish())


def test_the_head_is_killed_and_started_again(
    cluster: RayCluster, ray_server: RunningServer, tmp_path: Path, table: Table
) -> None:
    """With its memory on a disk. Danlu's server is on the same machine and stays."""
    training = Training.begin(cluster, ray_server, tmp_path)
    killed_at = time.monotonic()
    kill(cluster, HEAD, "site-packages/ray/", "ray::", "/gcs_server ")
    training.wait_for_growth()
    grown = time.monotonic() - killed_at
    other = training.client.jobs.submit(name="other", command="echo here")
    # placed before the server noticed, or not
    endings = ("the head of the Ray cluster does not answer", "No node is online.")
    wait_until(lambda: other.refresh().reason.message.endswith(endings), lambda: other.row)
    training.wait_for_growth()
    cluster.start_head()
    assert other.wait().state is JobState.SUCCEEDED, other.reason
    seconds = time.monotonic() - killed_at
    assert training.job.refresh().reason.code == "running"
    training.wait_for_growth()
    told = f"the log goes on (seen after {grown:.0f} s); a new job waits, and ran once `ray start --head` was repeated"
    table.add("head: everything of Ray there `kill -9`", told, seconds, training.finish())


def test_a_link_is_down_for_good(cluster: RayCluster, ray_server: RunningServer, tmp_path: Path, table: Table) -> None:
    """The last test: the node is cut off, its task stops by itself, and only then the job runs elsewhere."""
    ray_server.stop()
    short = RunningServer(cluster.folder / "short", *cluster.server_options, within=cluster.machines.within(HEAD))
    short.env = {**cluster.server_env, "DANLU_SERVER_LEASE_SECONDS": "20"}
    short.start()
    (tmp_path / "count.py").write_text(COUNT_WITH_TIMES)
    with short.client() as client:
        wait_until(lambda: sum(node.is_reachable for node in client.nodes()) == 2, lambda: list(client.nodes()))
        code = {"path": str(tmp_path)}
        job = client.jobs.submit(name="count", command="python3 count.py", code=code, retry={"max": 1, "backoff": 1})
        wait_until(lambda: len(b"".join(job.raw_log(0))) > 1000, lambda: job.refresh().row)
        address = job.refresh().details.attempts[0].tasks[0].node
        name = next(name for name, known in cluster.machines.addresses.items() if known == address)
        cut_at = time.monotonic()
        cluster.machines.cut(name)
        wait_until(lambda: job.refresh().reason.code == "unreachable", lambda: (job.row, short.said()[-3000:]))
        unknown = time.monotonic() - cut_at
        wait_until(lambda: len(job.refresh().details.attempts) == 2, lambda: (job.row, short.said()[-3000:]))
        wait_until(lambda: len(b"".join(job.raw_log(0, attempt=2))) > 1000, lambda: job.refresh().row)
        seconds = time.monotonic() - cut_at
        old, new = (_times(cluster, job, attempt) for attempt in (1, 2))
        job.refresh()
        assert old[-1] < new[0], "the new attempt ran beside its older self"
        assert job.details.attempts[0].reason.code == "lost"
        assert job.details.attempts[1].tasks[0].node != address
        stored = b"".join(job.raw_log(0, attempt=1))
        assert stored == _written(cluster, job, 1)[: len(stored)]
        cluster.machines.mend(name)
        for node in (cluster.folder / "nodes").glob(f"*/*/{job.id}/2/*/ml/code"):
            (node / "go").touch()
        assert job.wait().state is JobState.SUCCEEDED, job.reason
        told = (
            f"`unreachable` after {unknown:.0f} s; the task stopped {new[0] - old[-1]:.0f} s before the job ran on the "
            "other node (`lost`, then a retry; lease of 20 s)"
        )
        table.add("link of a node: down for good", told, seconds, f"{len(stored):,} of the log until the cut")
    short.stop()


def _written(cluster: RayCluster, job: Job, attempt: int) -> bytes:
    """What an attempt wrote on its node, whoever can reach that."""
    (log,) = (cluster.folder / "nodes").glob(f"*/*/{job.id}/{attempt}/0/log")
    return log.read_bytes()


def _times(cluster: RayCluster, job: Job, attempt: int) -> list[float]:
    return [float(line.split()[1]) for line in _written(cluster, job, attempt).splitlines() if line[:1].isdigit()]


def driver_of(server: RunningServer) -> int:
    """The process that speaks to Ray for a server."""
    for pid in descendants(server.pid, processes()):
        with contextlib.suppress(OSError):  # it has just ended
            if b"danlu.engines.ray.driver" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
    raise AssertionError("no process of the server speaks to Ray")


def kill(cluster: RayCluster, machine: str, *patterns: str, how: signal.Signals = signal.SIGKILL) -> None:
    everything = cluster.machines.processes(machine)
    found = [pid for pid, line in everything.items() if any(pattern in line for pattern in patterns)]
    assert found, everything
    for pid in found:
        os.kill(pid, how)
