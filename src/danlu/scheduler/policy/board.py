"""The board: all that waits and runs, and one round of deciding over it.

Made anew from a snapshot by the loop, or kept and told what happens by a simulation: the rules are the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from danlu.scheduler.policy import sentences
from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.eviction import find_victims, place_later
from danlu.scheduler.policy.holdings import Limit, Quotas, Usage
from danlu.scheduler.policy.placing import make_placement
from danlu.scheduler.policy.queueing import Bucket, Entry, Queue, Turn
from danlu.scheduler.policy.reservation import (
    MAX_RESERVATIONS,
    RESERVE_AFTER_SECONDS,
    Reservation,
    lift,
    renew,
    reserve,
)
from danlu.scheduler.policy.room import NEVER, Taken
from danlu.scheduler.policy.shape import CPUS, MEMORY, TASKS, Shape
from danlu.scheduler.policy.snapshot import Evict, FreeNode, RunningJob, RunningTask, Start
from danlu.scheduler.ports import Ports
from danlu.spec.reasons import Reason, reason

CLOCK_SLACK_SECONDS = 1.0
"""Clocks of several servers may differ by this much."""


@dataclass
class Decision:
    """What one round says. Every job that was in the queue starts or waits."""

    starts: list[Start] = field(default_factory=list)
    evictions: list[Evict] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    helped: list[tuple[Entry, Reason]] = field(default_factory=list)
    """Jobs that wait, but for which room is made or kept."""

    explain: Callable[[Entry], Reason] = field(default=lambda _: reason("no_nodes"))
    """Why another job waits. It is worked out when somebody wants to know it."""


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
        return _Round(self, now).serve() if self.cluster.rooms else Decision()


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
        self._too_long: dict[Shape, float] = {}
        """Requests that found nothing to use until a reserved node is ready, by when they would have ended."""
        self._hopeless: set[tuple[Shape, bool]] = set()
        """Requests that not even evictions would make fit, by whether the asking job is preemptible itself."""
        self._over: set[tuple[int, int, Shape, bool]] = set()
        """Whose firm jobs of which shape are over quota."""
        self._blocked: set[int] = set()
        """Projects of which a job waits for room already: only the first may have nodes kept."""
        self._borrowing: frozenset[int] | None = None
        self._kept: list[Taken] = []

    def serve(self) -> Decision:
        firm, preemptible = self._board.queue.turns()
        beyond: dict[int, list[Turn]] = {}
        self._serve(firm, beyond)
        self._serve(preemptible, beyond)
        for turns in beyond.values():
            heapq.heapify(turns)
        self._serve(beyond, None)
        self._clear_drained()
        self._let_go()
        self._decision.explain = self._explain
        return self._decision

    def _serve(self, turns: dict[int, list[Turn]], beyond: dict[int, list[Turn]] | None) -> None:
        """Serve all projects. Who would borrow is put into `beyond`; None: it is their turn."""
        order = [(self._usage.share(project_id), project_id) for project_id in turns]
        heapq.heapify(order)
        while order:
            _, project_id = heapq.heappop(order)
            mine = turns[project_id]
            while mine:
                _, bucket = heapq.heappop(mine)
                if self._is_hopeless(bucket.entries[0], is_borrowing=beyond is None):
                    continue
                num_starts = len(self._decision.starts)
                goes_on = self._serve_head(bucket, beyond)
                if goes_on and bucket.entries:
                    heapq.heappush(mine, (bucket.head.place, bucket))
                if len(self._decision.starts) > num_starts:  # it holds more now, so another one may be next
                    heapq.heappush(order, (self._usage.share(project_id), project_id))
                    break

    def _is_hopeless(self, entry: Entry, *, is_borrowing: bool) -> bool:
        """Whether a job like this one got nothing before, in this round, by any way there is."""
        shape = entry.shape
        if (entry.project_id, entry.owner_id, shape, entry.is_preemptible) in self._over:
            return True
        if shape not in self._refused or entry.project_id not in self._blocked:
            return False
        if not is_borrowing and (shape, entry.is_preemptible) not in self._hopeless:
            return False  # nobody has looked yet whether others could make room
        if entry.duration is None or not self._decision.reservations:
            return True
        return self._second + entry.duration >= self._too_long.get(shape, NEVER)

    def _serve_head(self, bucket: Bucket, beyond: dict[int, list[Turn]] | None) -> bool:
        """Start the first job of a bucket if that is possible. Return whether the next one may be asked."""
        entry = bucket.head
        limit = self._limit(entry)
        if limit is not None and not entry.is_preemptible:
            self._over.add((entry.project_id, entry.owner_id, entry.shape, False))
            return False
        if limit is not None and beyond is not None:
            beyond.setdefault(entry.project_id, []).append((entry.place, bucket))
            return False
        taken = self._find_room(entry)
        if taken is not None:
            bucket.pop()
            self._start(entry, taken)
            return True
        why = self._make_room(entry) if limit is None else None
        if why is None:
            why = self._reserve(entry)
        if why is None:
            return False
        bucket.pop()
        self._decision.helped.append((entry, why))
        return True

    def _limit(self, entry: Entry) -> Limit | None:
        return self._usage.limit(
            entry.project_id, entry.owner_id, entry.shape.demand, is_preemptible=entry.is_preemptible
        )

    def _find_room(self, entry: Entry) -> list[Taken] | None:
        shape = entry.shape
        if shape not in self._refused and self._board.ports.are_left(shape.num_tasks):
            taken = self._cluster.place(shape)
            if taken is not None:
                return taken
            self._refused.add(shape)
        if entry.duration is None or not self._decision.reservations:
            return None
        ends = self._second + entry.duration
        if ends >= self._too_long.get(shape, NEVER):
            return None
        wide = [item for item in self._decision.reservations if ends <= item.ready < NEVER]
        if not wide:
            return None
        lifted = [lift(self._cluster, item) for item in wide]
        taken = self._cluster.place(shape) if any(item.idle for item in lifted) else None
        renewed = {item.reservation.job_id: renew(self._cluster, item) for item in lifted}
        self._decision.reservations = [renewed.get(item.job_id, item) for item in self._decision.reservations]
        if taken is None:
            self._too_long[shape] = ends
        return taken

    def _make_room(self, entry: Entry) -> Reason | None:
        """Have preemptible jobs end, if that is enough for the job to start; or keep what is about to be free."""
        key = (entry.shape, entry.is_preemptible)
        if key in self._hopeless:
            return None
        projects = self._whose(entry)
        if projects is not None and not projects:
            return None
        taken = place_later(self._cluster, entry.shape)
        if taken is None:
            found = find_victims(self._cluster, entry.shape, projects)
            if found is None:
                self._hopeless.add(key)
                return None
            victims, taken = found
            for job_id in victims:
                project_id = self._cluster.live[job_id].job.project_id
                self._decision.evictions.append(Evict(job_id, entry.job.id, project_id == entry.project_id))
        self._kept += taken
        return sentences.making_room(entry.shape)

    def _whose(self, entry: Entry) -> frozenset[int] | None:
        """The projects whose jobs may have to go for this one; None: all."""
        if not entry.is_preemptible:
            return None
        # within its quota it takes back what others borrow, but from nobody who is within theirs
        if self._borrowing is None:
            self._borrowing = frozenset(filter(self._usage.is_borrowing, self._cluster.can_go))
        return self._borrowing - {entry.project_id}

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

    def _clear_drained(self) -> None:
        """Have those leave a drained node who can, where that is wanted."""
        told = {evict.job_id for evict in self._decision.evictions}
        for room in self._cluster.rooms.values():
            if room.drain is None or not room.drain.evicts:
                continue
            for job_id in sorted(room.held.keys() - room.coming.keys() - told):
                live = self._cluster.live.get(job_id)
                if live is not None and live.can_go:
                    told.add(job_id)
                    self._decision.evictions.append(Evict(job_id, drained=sentences.drained_node(room)))

    def _explain(self, entry: Entry) -> Reason:
        limit = None if entry.is_preemptible else self._limit(entry)
        if limit is not None:
            return sentences.over_quota(limit)
        return sentences.no_room(self._cluster, entry.shape)

    def _let_go(self) -> None:
        """What was kept is kept in this round; the next one keeps it again."""
        self._cluster.give_back(self._kept)
        for item in reversed(self._decision.reservations):
            self._cluster.give_back(item.taken)
        for entry, _ in self._decision.helped:
            self._board.queue.add(entry)


def waits_of(board: Board, decision: Decision) -> Iterator[tuple[Entry, Reason]]:
    """Every job that waits, and why. What holds one of a bucket up holds all of it."""
    helped = {entry.job.id: why for entry, why in decision.helped}
    for bucket in board.queue.buckets():
        why = decision.explain(bucket.head)
        for entry in bucket.entries:
            yield entry, helped.get(entry.job.id, why)
