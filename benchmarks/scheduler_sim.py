"""The scheduling policy on a large simulated cluster: real code, simulated nodes and time.

Prints the placements decided per second of CPU time, the utilization of the cluster, the waiting time of jobs by size,
the cost of one tick as nodes and queue grow, and how long a 64-node job waits behind a stream of 1-node jobs, against
the bound stated in docs/guide/scheduling.md. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from heapq import heappop, heappush
from itertools import count

from danlu.scheduler.policy.cluster import empty_node
from danlu.scheduler.policy.holdings import Quotas
from danlu.scheduler.policy.queueing import Entry
from danlu.scheduler.policy.reservation import RESERVE_AFTER_SECONDS
from danlu.scheduler.policy.snapshot import QueuedJob
from danlu.scheduler.policy.state import SchedulingState
from danlu.spec.devices import Device
from danlu.spec.job import JobSpec, parse_job
from danlu.spec.nodes import NodeInfo

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
DEVICES_PER_NODE = 8
NUM_PROJECTS = 20
USERS_PER_PROJECT = 5
TICK_SECONDS = 10.0
GRACE_SECONDS = 30.0

# (nodes, devices on each) -> share of jobs
SIZES = {
    (1, 1): 0.50,
    (1, 2): 0.14,
    (1, 4): 0.12,
    (1, 8): 0.14,
    (2, 8): 0.05,
    (4, 8): 0.03,
    (16, 8): 0.015,
    (64, 8): 0.005,
}


@dataclass(frozen=True)
class Work:
    """A simulated job: its description for the policy, and its real running time."""

    job: QueuedJob
    num_devices: int
    seconds: float
    submitted: float


@dataclass
class Result:
    num_starts: int = 0
    num_evictions: int = 0
    policy_seconds: float = 0.0
    ticks: int = 0
    end: float = 0.0
    used_device_seconds: float = 0.0
    busy_from: float = 0.0
    busy_until: float = 0.0


class Simulation:
    """Discrete-event simulation; events within a tick are decided together, as in the scheduling loop."""

    def __init__(self, num_nodes: int, quotas: Quotas) -> None:
        self.state = SchedulingState([empty_node(info) for info in make_nodes(num_nodes)], quotas)
        self.num_devices = num_nodes * DEVICES_PER_NODE
        self.waits: dict[str, float] = {}
        self.result = Result()
        self._works: dict[str, Work] = {}
        self._left: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._stopping: set[str] = set()
        self._events: list[tuple[float, int, str, str]] = []
        self._numbers = count()
        self._in_use = 0
        self._now = 0.0

    def submit(self, work: Work) -> None:
        self._works[work.job.id] = work
        self._left[work.job.id] = work.seconds
        self._at(work.submitted, "submit", work.job.id)

    def run(self, until: float = float("inf"), stop_when: str = "", budget_seconds: float = float("inf")) -> Result:
        """Run until no events are left, `until` is reached, job `stop_when` has started, or the budget is used up."""
        while self._events and self._events[0][0] <= until and stop_when not in self.waits:
            if self.result.policy_seconds > budget_seconds:
                break
            tick = (self._events[0][0] // TICK_SECONDS + 1) * TICK_SECONDS
            while self._events and self._events[0][0] <= tick:
                at, _, kind, job_id = heappop(self._events)
                self._pass_to(at)
                getattr(self, f"_{kind}")(job_id)
            self._pass_to(tick)
            self._serve()
        self.result.end = self._now
        return self.result

    def _serve(self) -> None:
        began = time.process_time()
        decision = self.state.serve(BEGIN + timedelta(seconds=self._now))
        self.result.policy_seconds += time.process_time() - began
        self.result.ticks += 1
        for start in decision.starts:
            work = self._works[start.job_id]
            self.waits.setdefault(work.job.id, self._now - work.submitted)
            self._started[work.job.id] = self._now
            self._in_use += work.num_devices
            self._at(self._now + self._left[work.job.id], "end", work.job.id)
            self.state.confirm(work.job.id)
        for eviction in decision.evictions:
            self._stopping.add(eviction.job_id)
            self._at(self._now + random.uniform(1, GRACE_SECONDS), "stopped", eviction.job_id)
        self.result.num_starts += len(decision.starts)
        self.result.num_evictions += len(decision.evictions)

    def _submit(self, job_id: str) -> None:
        self.state.queue.add(Entry(self._works[job_id].job))

    def _end(self, job_id: str) -> None:
        ran = self._now - self._started.get(job_id, float("inf"))
        if job_id in self._stopping or ran + 1e-3 < self._left[job_id]:
            return  # it was preempted, or this event belongs to an earlier attempt
        self._leave(job_id)

    def _stopped(self, job_id: str) -> None:
        self._stopping.discard(job_id)
        work = self._works[job_id]
        self._left[job_id] = max(1.0, self._left[job_id] - (self._now - self._started[job_id]))
        self._leave(job_id)
        again = replace(work.job, attempt=work.job.attempt + 1)
        self._works[job_id] = replace(work, job=again)
        self.state.queue.add(Entry(again))

    def _leave(self, job_id: str) -> None:
        self.state.remove_running(job_id)
        self._in_use -= self._works[job_id].num_devices
        del self._started[job_id]

    def _pass_to(self, at: float) -> None:
        if self.result.busy_from <= self._now < self.result.busy_until:
            self.result.used_device_seconds += self._in_use * (at - self._now)
        self._now = max(at, self._now)

    def _at(self, seconds: float, kind: str, job_id: str) -> None:
        heappush(self._events, (seconds, next(self._numbers), kind, job_id))


def make_nodes(count_: int) -> Iterator[NodeInfo]:
    devices = tuple(Device(type="npu", id=number, model="910b") for number in range(DEVICES_PER_NODE))
    for number in range(count_):
        yield NodeInfo(
            name=f"n{number:05d}",
            cpus=192,
            memory_bytes=1 << 40,
            devices=devices,
            has_sandbox=True,
            has_own_network=True,
            joins_networks=True,
        )


def make_quotas(num_nodes: int) -> Quotas:
    """Each project has a share of the cluster; some users have a lower quota."""
    part = num_nodes * DEVICES_PER_NODE // NUM_PROJECTS
    users = {(project, project * 100): {"npu": part // 2} for project in range(1, NUM_PROJECTS + 1)}
    return Quotas({project: {"npu": part} for project in range(1, NUM_PROJECTS + 1)}, users)


def make_work(num_jobs: int, *, num_nodes: int, seed: int, backlog: float, load: float) -> Iterator[Work]:
    """Yield a backlog at the start, then a stream that would keep `load` of the devices busy."""
    chance = random.Random(seed)
    shapes = list(SIZES)
    specs: dict[object, JobSpec] = {}
    mean_seconds = 1800.0
    mean_devices = sum(nodes * devices * share for (nodes, devices), share in SIZES.items())
    gap = mean_devices * mean_seconds / (load * num_nodes * DEVICES_PER_NODE)
    at = 0.0
    for number in range(num_jobs):
        if number >= backlog * num_jobs:
            at += chance.expovariate(1 / gap)
        nodes, devices = chance.choices(shapes, list(SIZES.values()))[0]
        seconds = min(4 * 3600.0, max(60.0, chance.lognormvariate(7.0, 1.0)))
        limit = None if chance.random() < 0.3 else 600.0 * (1 + seconds // 600)
        key = (nodes, devices, limit, chance.random() < 0.4, 50 + 10 * (chance.random() < 0.1))
        if key not in specs:
            specs[key] = make_spec(nodes, devices, limit, is_preemptible=key[3], priority=key[4])
        project = chance.randrange(1, NUM_PROJECTS + 1)
        job = QueuedJob(
            id=f"train-{seed}{number:08d}",
            spec=specs[key],
            attempt=1,
            queued_at=BEGIN + timedelta(seconds=at),
            project_id=project,
            owner_id=project * 100 + chance.randrange(USERS_PER_PROJECT),
        )
        yield Work(job, nodes * devices, seconds, at)


def make_spec(
    nodes: int, devices: int, limit: float | None, *, is_preemptible: bool = False, priority: int = 50
) -> JobSpec:
    return parse_job(
        {
            "name": "job",
            "command": "train",
            "nodes": nodes,
            "resources": {"device": f"npu:{devices}"},
            "max_duration": limit,
            "preemptible": is_preemptible,
            "priority": priority,
        }
    )


def measure_throughput(num_nodes: int, num_jobs: int, budget_seconds: float) -> list[dict[str, object]]:
    simulation = Simulation(num_nodes, make_quotas(num_nodes))
    works = list(make_work(num_jobs, num_nodes=num_nodes, seed=1, backlog=0.4, load=0.95))
    for work in works:
        simulation.submit(work)
    simulation.result.busy_from, simulation.result.busy_until = 600.0, works[-1].submitted
    gc.collect()
    gc.freeze()
    result = simulation.run(budget_seconds=budget_seconds)
    is_whole = result.policy_seconds <= budget_seconds
    assert not is_whole or len(simulation.waits) == num_jobs, "jobs were left behind"
    busy_seconds = min(result.busy_until, result.end) - result.busy_from
    used = result.used_device_seconds / busy_seconds / simulation.num_devices
    rate = result.num_starts / result.policy_seconds
    print(
        f"{num_nodes} nodes, {num_jobs} jobs: {result.num_starts} placements and {result.num_evictions} evictions in "
        f"{result.ticks} looks and {result.policy_seconds:.1f} s of processor time; "
        f"{result.end / 3600:.1f} h of cluster time, {used:.1%} of the devices in use while jobs kept coming"
    )
    if not is_whole:
        print(f"  stopped after {budget_seconds:.0f} s of deciding; waits are those of the jobs that had started")
    for (nodes, devices), _ in SIZES.items():
        size = nodes * devices
        sized = (work.job.id for work in works if work.num_devices == size)
        waits = sorted(simulation.waits[job_id] for job_id in sized if job_id in simulation.waits)
        if waits:
            print(
                f"  {nodes:3d} x npu:{devices}: {len(waits):6d} jobs, wait mean {statistics.mean(waits):8.0f} s, "
                f"p95 {waits[int(len(waits) * 0.95)]:8.0f} s, max {waits[-1]:8.0f} s"
            )
    return [
        figure("placements_per_second", rate, gate=500, goal=2000),
        figure("utilisation", used, gate=0.85, goal=0.92),
    ]


def measure_ticks(base_nodes: int, base_jobs: int) -> list[dict[str, object]]:
    """Exponents of the cost of one tick on a full cluster with a long queue, as nodes and queue grow."""
    by_nodes = [(factor, tick_seconds(base_nodes * factor, base_jobs)) for factor in (1, 2, 4)]
    by_queue = [(factor, tick_seconds(base_nodes, base_jobs * factor)) for factor in (1, 2, 4)]
    for name, found in (("nodes", by_nodes), ("queue", by_queue)):
        sizes = ", ".join(f"x{factor}: {seconds * 1000:.1f} ms" for factor, seconds in found)
        print(f"one look as the {name} grow: {sizes}")
    return [
        figure("tick_slope_nodes", slope(by_nodes), gate=1.2, goal=0.7),
        figure("tick_slope_queue", slope(by_queue), gate=1.2, goal=0.7),
    ]


def tick_seconds(num_nodes: int, num_jobs: int) -> float:
    simulation = Simulation(num_nodes, make_quotas(num_nodes))
    for work in make_work(num_jobs, num_nodes=num_nodes, seed=2, backlog=1.0, load=1.0):
        simulation.submit(work)
    simulation.run(until=0.0)  # fills the cluster
    taken = []
    for number in range(1, 8):
        now = BEGIN + timedelta(seconds=90 + number)
        began = time.process_time()
        simulation.state.serve(now)
        taken.append(time.process_time() - began)
    assert any(simulation.state.queue.buckets()), "nothing waits: the queue is too short for this cluster"
    return statistics.median(taken)


def slope(found: list[tuple[int, float]]) -> float:
    """Exponent by which cost grows with size, over the whole range."""
    from math import log

    (first, cheap), (last, dear) = found[0], found[-1]
    return log(dear / cheap) / log(last / first)


def measure_bound(num_nodes: int = 128) -> list[dict[str, object]]:
    """A 64-node job behind an endless stream of 1-node jobs: the worst of several streams. All have a time limit."""
    longest = 3600.0
    ratios = []
    for seed in range(5):
        chance = random.Random(seed)
        simulation = Simulation(num_nodes, Quotas())
        spec = make_spec(1, 8, longest)
        for number in range(3000):
            at = number * 15.0
            job = QueuedJob(f"train-{number:06d}", spec, 1, BEGIN + timedelta(seconds=at), None, 1, 100)
            simulation.submit(Work(job, 8, chance.uniform(0.2, 1.0) * longest, at))
        big = QueuedJob("train-999999", make_spec(64, 8, longest), 1, BEGIN + timedelta(seconds=7200), None, 1, 101)
        simulation.submit(Work(big, 512, longest, 7200.0))
        simulation.run(stop_when=big.id)
        bound = RESERVE_AFTER_SECONDS + longest + GRACE_SECONDS + 2 * TICK_SECONDS
        ratios.append(simulation.waits[big.id] / bound)
    print(f"64 nodes of {num_nodes} behind 1-node jobs: wait / bound {', '.join(f'{ratio:.2f}' for ratio in ratios)}")
    return [figure("large_job_wait_of_bound", max(ratios), gate=1.0, goal=1.0)]


def figure(name: str, value: float, *, gate: float, goal: float) -> dict[str, object]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few minutes")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=100_000)
    options = parser.parse_args()
    random.seed(7)
    figures = measure_bound()
    figures += measure_ticks(2_500, 25_000)
    figures += measure_throughput(options.nodes, options.jobs, 60.0 if options.quick else 1200.0)
    for found in figures:
        print(f"{found['name']:<30} {found['value']:>10.3f}   gate {found['gate']}   goal {found['goal']}")
    print(json.dumps({"bench": "scheduler_sim", "figures": figures}))


if __name__ == "__main__":
    main()
