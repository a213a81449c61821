"""The scheduling state, which is all queued and running jobs, and one scheduling round over it.

The scheduler loop updates it before each round, a simulation with every event.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from danlu.scheduler.policy import waiting_reasons
from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.eviction import find_victims, place_later
from danlu.scheduler.policy.holdings import Holdings, Limit, Quotas
from danlu.scheduler.policy.node_state import NEVER, Allocation
from danlu.scheduler.policy.placing import has_own_network, make_placement
from danlu.scheduler.policy.queueing import Bucket, Entry, Queue, Turn
from danlu.scheduler.policy.reservation import (
    MAX_RESERVATIONS,
    RESERVE_AFTER_SECONDS,
    Reservation,
    lift,
    renew,
    reserve,
)
from danlu.scheduler.policy.shape import CPUS, MEMORY, TASKS, Shape
from danlu.scheduler.policy.snapshot import Evict, FreeNode, RunningJob, RunningTask, Start
from danlu.scheduler.ports import Ports
from danlu.spec.reasons import Reason, reason

CLOCK_SLACK_SECONDS = 1.0
"""Clocks of several servers may differ by this much."""


@dataclass
class Decision:
    """Result of one round: every queued job starts or waits."""

    starts: list[Start] = field(default_factory=list)
    evictions: list[Evict] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    helped: list[tuple[Entry, Reason]] = field(default_factory=list)
    """Jobs that wait, but for which others are evicted or nodes are reserved."""

    explain: Callable[[Entry], Reason] = field(default=lambda _: reason("no_nodes"))
    """Why a job waits; computed when it is called."""


class SchedulingState:
    def __init__(self, nodes: Iterable[FreeNode], quotas: Quotas, ports_in_use: frozenset[int] = frozenset()) -> None:
        self.cluster = Cluster(nodes)
        self.holdings = Holdings(quotas, self.cluster.capacity)
        self.queue = Queue()
        self.ports = Ports(ports_in_use)

    def add_running(self, job: RunningJob) -> None:
        """Add a live attempt. Its resources must already be subtracted from what the nodes have free."""
        self.cluster.add(job)
        self.holdings.add(job.project_id, job.owner_id, demand_of(job), is_preemptible=job.is_preemptible)

    def remove_running(self, job_id: str) -> None:
        """Remove an attempt that ended."""
        job = self.cluster.remove(job_id)
        if job is not None:
            self.holdings.add(job.project_id, job.owner_id, demand_of(job), is_preemptible=job.is_preemptible, sign=-1)

    def exchange(self, gone: Sequence[str], new: Sequence[RunningJob]) -> None:
        """Remove live attempts and add others."""
        for sign, jobs in ((-1, [self.cluster.placed[job_id].job for job_id in gone]), (1, new)):
            for job in jobs:
                demand = demand_of(job)
                self.holdings.add(job.project_id, job.owner_id, demand, is_preemptible=job.is_preemptible, sign=sign)
        self.cluster.exchange(gone, new)

    def begin_round(self, ports_in_use: frozenset[int]) -> None:
        """Empty the queue, and reset the ports that can be allotted."""
        self.queue = Queue()
        self.ports = Ports(ports_in_use)

    def confirm(self, job_id: str) -> None:
        """Mark an attempt as started: it can be evicted from now on."""
        self.cluster.confirm(job_id)

    def serve(self, now: datetime) -> Decision:
        """Decide what starts and what is evicted for it. Jobs that start count as running afterwards."""
        return _Round(self, now).serve() if self.cluster.nodes else Decision()


def demand_of(job: RunningJob) -> dict[str, float]:
    """Resource -> how much of it the job holds."""
    demand: dict[str, float] = {TASKS: float(len(job.tasks))}
    for task in job.tasks:
        for device in task.devices:
            demand[device.type] = demand.get(device.type, 0.0) + 1
        if task.cpus:
            demand[CPUS] = demand.get(CPUS, 0.0) + task.cpus
        if task.memory_bytes:
            demand[MEMORY] = demand.get(MEMORY, 0.0) + task.memory_bytes
    return demand


class _Round:
    """One scheduling round in three passes: firm jobs, preemptible jobs within quota, and those above it (borrowing).

    Never serve a job before one that may preempt it: an evicted job would get its resources back at once. In each pass
    the project with the smallest share is next.
    """

    def __init__(self, state: SchedulingState, now: datetime) -> None:
        self._state = state
        self._cluster, self._holdings = state.cluster, state.holdings
        self._now = now
        self._second = now.timestamp()
        self._decision = Decision()
        self._unplaceable: set[Shape] = set()
        self._without_ports: set[Shape] = set()
        """Requests that would fit, were there ports left on the nodes' network."""
        self._too_long: dict[Shape, float] = {}
        """Requests that could not be backfilled, with the earliest end that was tried."""
        self._no_eviction_helps: set[tuple[Shape, frozenset[int] | None]] = set()
        """Requests that no eviction would make fit, and the projects whose jobs may be evicted for them; None: all."""
        self._over: set[tuple[int, int, Shape, bool]] = set()
        """Project, user, request and preemptible: these are over quota."""
        self._blocked: set[int] = set()
        """Projects with a job that could not be placed: only the first such job of a project may get a reservation."""
        self._borrowing: frozenset[int] | None = None
        self._others: dict[int, frozenset[int]] = {}
        """Project that borrows -> the others that do."""
        self._kept: list[Allocation] = []

    def serve(self) -> Decision:
        firm, preemptible = self._state.queue.turns()
        over_quota: dict[int, list[Turn]] = {}
        self._serve(firm, over_quota)
        self._serve(preemptible, over_quota)
        for turns in over_quota.values():
            heapq.heapify(turns)
        self._serve(over_quota, None)
        self._evict_from_drained()
        self._release_kept()
        self._decision.explain = self._explain
        return self._decision

    def _serve(self, turns: dict[int, list[Turn]], over_quota: dict[int, list[Turn]] | None) -> None:
        """Serve all projects. Jobs that exceed a quota are deferred to `over_quota`, or served now if that is None."""
        order = [(self._holdings.share(project_id), project_id) for project_id in turns]
        heapq.heapify(order)
        while order:
            _, project_id = heapq.heappop(order)
            mine = turns[project_id]
            while mine:
                _, bucket = heapq.heappop(mine)
                if self._was_refused(bucket.entries[0], is_borrowing=over_quota is None):
                    continue
                num_starts = len(self._decision.starts)
                goes_on = self._serve_head(bucket, over_quota)
                if goes_on and bucket.entries:
                    heapq.heappush(mine, (bucket.head.position, bucket))
                if len(self._decision.starts) > num_starts:  # its share grew, so another project may be next
                    heapq.heappush(order, (self._holdings.share(project_id), project_id))
                    break

    def _was_refused(self, entry: Entry, *, is_borrowing: bool) -> bool:
        """Whether an equal request was refused in this round in every possible way."""
        shape = entry.shape
        if (entry.project_id, entry.owner_id, shape, entry.is_preemptible) in self._over:
            return True
        if shape not in self._unplaceable or entry.project_id not in self._blocked:
            return False
        if not is_borrowing and (shape, self._projects_to_evict(entry)) not in self._no_eviction_helps:
            return False  # evictions have not been tried yet
        if entry.duration is None or not self._decision.reservations:
            return True
        return self._second + entry.duration >= self._too_long.get(shape, NEVER)

    def _serve_head(self, bucket: Bucket, over_quota: dict[int, list[Turn]] | None) -> bool:
        """Start the first job of a bucket if possible. Return whether the next one may be tried."""
        entry = bucket.head
        limit = self._limit(entry)
        if limit is not None and not entry.is_preemptible:
            self._over.add((entry.project_id, entry.owner_id, entry.shape, False))
            return False
        if limit is not None and over_quota is not None:
            over_quota.setdefault(entry.project_id, []).append((entry.position, bucket))
            return False
        allocations = None if entry.shape in self._without_ports else self._find_place(entry)
        if allocations is not None:
            bucket.pop()
            self._start(entry, allocations)
            return True
        if entry.shape in self._without_ports:
            return False  # neither evictions nor a reservation would help
        why = self._evict_for(entry) if limit is None else None
        if why is None:
            why = self._reserve(entry)
        if why is None:
            return False
        bucket.pop()
        self._decision.helped.append((entry, why))
        return True

    def _limit(self, entry: Entry) -> Limit | None:
        return self._holdings.limit(
            entry.project_id, entry.owner_id, entry.shape.demand, is_preemptible=entry.is_preemptible
        )

    def _find_place(self, entry: Entry) -> list[Allocation] | None:
        allocations = self._place(entry)
        if allocations is None or has_own_network(allocations) or self._state.ports.are_left(len(allocations)):
            return allocations
        self._cluster.release(allocations)
        self._without_ports.add(entry.shape)
        return None

    def _place(self, entry: Entry) -> list[Allocation] | None:
        shape = entry.shape
        if shape not in self._unplaceable:
            allocations = self._cluster.place(shape)
            if allocations is not None:
                return allocations
            self._unplaceable.add(shape)
        if entry.duration is None or not self._decision.reservations:
            return None
        ends = self._second + entry.duration
        if ends >= self._too_long.get(shape, NEVER):
            return None
        wide = [item for item in self._decision.reservations if ends <= item.ready < NEVER]
        if not wide:
            return None
        lifted = [lift(self._cluster, item) for item in wide]
        allocations = self._cluster.place(shape) if any(item.idle for item in lifted) else None
        renewed = {item.reservation.job_id: renew(self._cluster, item) for item in lifted}
        self._decision.reservations = [renewed.get(item.job_id, item) for item in self._decision.reservations]
        if allocations is None:
            self._too_long[shape] = ends
        return allocations

    def _evict_for(self, entry: Entry) -> Reason | None:
        """Evict preemptible jobs if that lets the job start, or keep for it what will soon be free."""
        projects = self._projects_to_evict(entry)
        key = (entry.shape, projects)
        if key in self._no_eviction_helps:
            return None
        if projects is not None and not projects:
            self._no_eviction_helps.add(key)
            return None
        allocations = place_later(self._cluster, entry.shape)
        if allocations is None:
            found = find_victims(self._cluster, entry.shape, projects)
            if found is None:
                self._no_eviction_helps.add(key)
                return None
            victims, allocations = found
            for job_id in victims:
                project_id = self._cluster.placed[job_id].job.project_id
                self._decision.evictions.append(Evict(job_id, entry.job.id, project_id == entry.project_id))
        self._kept += allocations
        return waiting_reasons.making_room(entry.shape)

    def _projects_to_evict(self, entry: Entry) -> frozenset[int] | None:
        """Projects whose jobs may be evicted for this one; None: all."""
        if not entry.is_preemptible:
            return None
        # a preemptible job within quota may only evict jobs of projects that exceed theirs
        if self._borrowing is None:
            self._borrowing = frozenset(filter(self._holdings.is_borrowing, self._cluster.evictable_by_project))
        if entry.project_id not in self._borrowing:
            return self._borrowing
        if entry.project_id not in self._others:
            self._others[entry.project_id] = self._borrowing - {entry.project_id}
        return self._others[entry.project_id]

    def _reserve(self, entry: Entry) -> Reason | None:
        is_first = entry.project_id not in self._blocked
        self._blocked.add(entry.project_id)
        waited = self._second - entry.queued
        # queued in the future: the clock was set back, so the wait cannot be measured
        has_waited = waited >= RESERVE_AFTER_SECONDS or waited < -CLOCK_SLACK_SECONDS
        if not (is_first and has_waited) or len(self._decision.reservations) >= MAX_RESERVATIONS:
            return None
        found = reserve(self._cluster, entry.job.id, entry.shape)
        if found is None:
            return None
        self._decision.reservations.append(found)
        return waiting_reasons.reserved(entry.shape)

    def _start(self, entry: Entry, allocations: list[Allocation]) -> None:
        job = entry.job
        placement = make_placement(job.id, job.attempt, allocations, self._state.ports)
        self._decision.starts.append(Start(job.id, placement))
        self._state.add_running(
            RunningJob(
                id=job.id,
                project_id=job.project_id,
                owner_id=job.owner_id,
                started_at=self._now,
                tasks=tuple(_running_task(item) for item in allocations),
                is_preemptible=entry.is_preemptible,
                can_be_stopped=False,  # the engine has not started it yet
                ends_at=None if entry.duration is None else self._now + timedelta(seconds=entry.duration),
            )
        )

    def _evict_from_drained(self) -> None:
        """Evict preemptible jobs from drained nodes where that was requested."""
        told = {evict.job_id for evict in self._decision.evictions}
        for node in self._cluster.nodes.values():
            if node.drain is None or not node.drain.evicts:
                continue
            for job_id in sorted(node.holdings.keys() - node.ending.keys() - told):
                placed = self._cluster.placed.get(job_id)
                if placed is not None and placed.is_evictable:
                    told.add(job_id)
                    self._decision.evictions.append(Evict(job_id, drained=waiting_reasons.drained_node(node)))

    def _explain(self, entry: Entry) -> Reason:
        limit = None if entry.is_preemptible else self._limit(entry)
        if limit is not None:
            return waiting_reasons.over_quota(limit)
        if entry.shape in self._without_ports:
            return waiting_reasons.no_ports()
        return waiting_reasons.no_room(self._cluster, entry.shape)

    def _release_kept(self) -> None:
        """Undo reservations: they last for one round, and the next one makes them again."""
        self._cluster.release(self._kept)
        for item in reversed(self._decision.reservations):
            self._cluster.release(item.allocations)
        for entry, _ in self._decision.helped:
            self._state.queue.add(entry)


def _running_task(item: Allocation) -> RunningTask:
    need = item.need
    return RunningTask(item.node.name, item.devices, need.cpus, need.memory_bytes, frozenset(need.ports))


def waits_of(state: SchedulingState, decision: Decision) -> Iterator[tuple[Entry, Reason]]:
    """Every waiting job with its reason; all jobs of a bucket wait for the same one."""
    helped = {entry.job.id: why for entry, why in decision.helped}
    for bucket in state.queue.buckets():
        why = decision.explain(bucket.head)
        for entry in bucket.entries:
            yield entry, helped.get(entry.job.id, why)
