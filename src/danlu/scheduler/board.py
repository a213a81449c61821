"""The board: all that waits and runs, and one round of deciding over it.

Made anew from a snapshot by the loop, or kept and told what happens by a simulation: the rules are the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from danlu.scheduler import sentences
from danlu.scheduler.cluster import Cluster, Live
from danlu.scheduler.eviction import MayEvict, find_victims, place_later
from danlu.scheduler.placing import make_placement
from danlu.scheduler.ports import Ports
from danlu.scheduler.queueing import Bucket, Entry, Queue
from danlu.scheduler.reservation import MAX_RESERVATIONS, RESERVE_AFTER_SECONDS, Reservation, lift, renew, reserve
from danlu.scheduler.room import NEVER, Taken
from danlu.scheduler.shape import CPUS, MEMORY, TASKS, Shape
from danlu.scheduler.snapshot import Evict, FreeNode, RunningJob, RunningTask, Start
from danlu.scheduler.usage import Quotas, Usage
from danlu.spec.reasons import Reason, reason

CLOCK_SLACK_SECONDS = 1.0
"""Clocks of several servers may differ by this much."""


@dataclass
class Decision:
    """What one round says. Every job that was in the queue is in one of these."""

    starts: list[Start] = field(default_factory=list)
    evictions: list[Evict] = field(default_factory=list)
    waits: list[tuple[list[Entry], Reason]] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)


class Board:
    def __init__(self, nodes: Iterable[FreeNode], quotas: Quotas, ports_in_use: frozenset[int] = frozenset()) -> None:
        self.cluster = Cluster(nodes)
        self.usage = Usage(quotas, self.cluster.capacity)
        self.queue = Queue()
        self.ports = Ports(ports_in_use)

    def add_running(self, job: RunningJob) -> None:
        """A live attempt, whose places the nodes do not count as free."""
        self.cluster.add(job)
        self.usage.add(job.project_id, job.owner_id, demand_of(job), is_preemptible=job.is_preemptible)

    def remove_running(self, job_id: str) -> None:
        """An attempt has ended."""
        job = self.cluster.remove(job_id)
        if job is not None:
            self.usage.add(job.project_id, job.owner_id, demand_of(job), is_preemptible=job.is_preemptible, sign=-1)

    def confirm(self, job_id: str) -> None:
        """The attempt has been started: from now on it can be told to end."""
        self.cluster.confirm(job_id)

    def serve(self, now: datetime) -> Decision:
        """Decide what starts and who has to go for it. What starts is running on the board afterwards."""
        if not self.cluster.rooms:
            waits = [([entry], reason("no_nodes")) for entry in self.queue]
            return Decision(waits=waits)
        return _Round(self, now).serve()


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
    """One look at the queue: firm jobs, then preemptible ones within quota, then those that borrow.

    Nobody comes before a job that could make it go again: a victim would take back what it was told to leave.
    In each part the project with the smallest share is next.
    """

    def __init__(self, board: Board, now: datetime) -> None:
        self._board = board
        self._cluster, self._usage = board.cluster, board.usage
        self._now = now
        self._second = now.timestamp()
        self._decision = Decision()
        self._refused: set[Shape] = set()
        self._hopeless: set[tuple[Shape, bool]] = set()
        """Requests that not even evictions would make fit, by whether the asking job is preemptible itself."""
        self._blocked: set[int] = set()
        """Projects of which a job waits for room already: only the first may have nodes kept."""
        self._kept: list[Taken] = []
        self._held_up: list[Entry] = []
        """Jobs that wait, but not for what the others of their bucket wait for."""

    def serve(self) -> Decision:
        firm, preemptible = self._board.queue.turns()
        beyond: dict[int, list[Bucket]] = {}
        self._serve(firm, beyond)
        self._serve(preemptible, beyond)
        for buckets in beyond.values():
            heapq.heapify(buckets)
        self._serve(beyond, None)
        self._let_go()
        return self._decision

    def _serve(self, turns: dict[int, list[Bucket]], later: dict[int, list[Bucket]] | None) -> None:
        """Serve all projects. Who would borrow is put into `later`; None: it is their turn."""
        order = [(self._usage.share(project_id), project_id) for project_id in turns]
        heapq.heapify(order)
        while order:
            _, project_id = heapq.heappop(order)
            buckets = turns[project_id]
            if not buckets:
                continue
            bucket = heapq.heappop(buckets)
            goes_on = self._serve_head(bucket, later)
            if goes_on and bucket.entries:
                heapq.heappush(buckets, bucket)
            heapq.heappush(order, (self._usage.share(project_id), project_id))

    def _serve_head(self, bucket: Bucket, later: dict[int, list[Bucket]] | None) -> bool:
        """Start the first job of a bucket, or say why all of it waits. Return whether the bucket may be asked again."""
        entry = bucket.head
        limit = self._usage.limit(
            entry.project_id, entry.owner_id, entry.shape.demand, is_preemptible=entry.is_preemptible
        )
        if limit is not None and not entry.is_preemptible:
            self._wait(bucket, sentences.over_quota(limit))
            return False
        if limit is not None and later is not None:
            later.setdefault(entry.project_id, []).append(bucket)
            return False
        taken = self._find_room(entry)
        if taken is not None:
            bucket.pop()
            self._start(entry, taken)
            return True
        why = self._make_room(entry) if limit is None else None
        if why is None:
            why = self._reserve(entry)
        if why is not None:
            bucket.pop()
            self._held_up.append(entry)
            self._decision.waits.append(([entry], why))
            return True
        self._wait(bucket, self._shortage(entry.shape))
        return False

    def _find_room(self, entry: Entry) -> list[Taken] | None:
        shape = entry.shape
        if shape not in self._refused and self._board.ports.are_left(shape.num_tasks):
            taken = self._cluster.place(shape)
            if taken is not None:
                return taken
            self._refused.add(shape)
        if entry.duration is None:
            return None
        ends = self._second + entry.duration
        wide = [item for item in self._decision.reservations if ends <= item.ready < NEVER]
        if not wide:
            return None
        for item in wide:
            lift(self._cluster, item)
        taken = self._cluster.place(shape)
        for item in wide:
            again = renew(self._cluster, item)
            self._decision.reservations[self._decision.reservations.index(item)] = again
        return taken

    def _make_room(self, entry: Entry) -> Reason | None:
        """Have preemptible jobs end, if that is enough for the job to start; or keep what is about to be free."""
        key = (entry.shape, entry.is_preemptible)
        if key in self._hopeless:
            return None
        if entry.is_preemptible and not self._usage.quotas.projects:
            return None  # nobody borrows
        taken = place_later(self._cluster, entry.shape)
        if taken is None:
            found = find_victims(self._cluster, entry.shape, self._may_evict(entry))
            if found is None:
                self._hopeless.add(key)
                return None
            victims, taken = found
            for job_id in victims:
                project_id = self._cluster.live[job_id].job.project_id
                self._decision.evictions.append(Evict(job_id, entry.job.id, project_id == entry.project_id))
        self._kept += taken
        return sentences.making_room(entry.shape)

    def _may_evict(self, entry: Entry) -> MayEvict:
        if not entry.is_preemptible:
            return _anybody
        # within its quota it takes back what others borrow, but from nobody who is within theirs
        return lambda live: self._usage.is_borrowing(live.job.project_id) and live.job.project_id != entry.project_id

    def _reserve(self, entry: Entry) -> Reason | None:
        is_first = entry.project_id not in self._blocked
        self._blocked.add(entry.project_id)
        waited = self._second - entry.queued
        # queued in the future: the clock was set back, and says nothing about how long the job waits
        has_waited = waited >= RESERVE_AFTER_SECONDS or waited < -CLOCK_SLACK_SECONDS
        if not (is_first and has_waited) or len(self._decision.reservations) >= MAX_RESERVATIONS:
            return None
        found = reserve(self._cluster, entry.job.id, entry.shape)
        if found is None:
            return None
        self._decision.reservations.append(found)
        return sentences.reserved(entry.shape)

    def _start(self, entry: Entry, taken: list[Taken]) -> None:
        job = entry.job
        placement = make_placement(job.id, job.attempt, taken, self._board.ports)
        self._decision.starts.append(Start(job.id, placement))
        self._board.add_running(
            RunningJob(
                id=job.id,
                project_id=job.project_id,
                owner_id=job.owner_id,
                started_at=self._now,
                tasks=tuple(
                    RunningTask(item.room.name, item.devices, item.need.cpus, item.need.memory_bytes) for item in taken
                ),
                is_preemptible=entry.is_preemptible,
                can_be_told=False,  # not before it has been started
                ends_at=None if entry.duration is None else self._now + timedelta(seconds=entry.duration),
            )
        )

    def _shortage(self, shape: Shape) -> Reason:
        if not self._cluster.could_hold(shape):
            return sentences.no_such_node(shape, (room.info for room in self._cluster.rooms.values()))
        return sentences.no_capacity(shape)

    def _wait(self, bucket: Bucket, why: Reason) -> None:
        self._decision.waits.append((list(bucket.entries), why))

    def _let_go(self) -> None:
        """What was kept is kept in this round; the next one keeps it again."""
        self._cluster.give_back(self._kept)
        for item in reversed(self._decision.reservations):
            self._cluster.give_back(item.taken)
        for entry in self._held_up:
            self._board.queue.add(entry)


def _anybody(_live: Live) -> bool:
    return True


def waits_of(decision: Decision) -> Iterator[tuple[Entry, Reason]]:
    """Every job that waits, and why."""
    for entries, why in decision.waits:
        for entry in entries:
            yield entry, why
