"""The queue of each project. Equal requests of one user share a bucket, because they wait for the same reason."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from math import ceil, log2

from danlu.scheduler.policy.shape import Shape
from danlu.scheduler.policy.snapshot import QueuedJob

Position = tuple[int, float, str]
"""Order within a project: by priority, then time, then id."""


class Entry:
    """A queued job, with precomputed values that the policy reads often."""

    __slots__ = ("duration", "is_preemptible", "job", "owner_id", "position", "project_id", "queued", "shape")

    def __init__(self, job: QueuedJob) -> None:
        self.job = job
        self.shape: Shape = job.shape
        self.project_id = job.project_id
        self.owner_id = job.owner_id
        self.is_preemptible = job.spec.preemptible
        limit = job.spec.max_duration
        self.duration = None if limit is None else limit + job.spec.grace
        """Most seconds that it can run, grace included; None without a time limit."""
        self.queued = job.queued_at.timestamp()
        self.position: Position = (-job.spec.priority, self.queued, job.id)

    def __lt__(self, other: Entry) -> bool:
        return self.position < other.position


class Bucket:
    """Jobs of one user with the same request, in queue order."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    @property
    def head(self) -> Entry:
        return self.entries[0]

    def add(self, entry: Entry) -> None:
        heapq.heappush(self.entries, entry)

    def pop(self) -> Entry:
        return heapq.heappop(self.entries)


Turn = tuple[Position, Bucket]
"""A bucket with the position of its first job; positions are unique."""


class Queue:
    """Jobs that may start now, by project."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.projects: dict[int, dict[object, Bucket]] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        buckets = self.projects.setdefault(entry.project_id, {})
        key = (entry.owner_id, entry.shape, entry.is_preemptible, _class_of(entry.duration))
        bucket = buckets.get(key)
        if bucket is None:
            bucket = buckets[key] = Bucket()
        bucket.add(entry)

    def turns(self) -> tuple[dict[int, list[Turn]], dict[int, list[Turn]]]:
        """For each project a heap of its buckets: non-preemptible jobs, and preemptible ones."""
        firm: dict[int, list[Turn]] = {}
        preemptible: dict[int, list[Turn]] = {}
        for project_id, buckets in self.projects.items():
            for key in [key for key, bucket in buckets.items() if not bucket.entries]:
                del buckets[key]
            for bucket in buckets.values():
                head = bucket.entries[0]
                turns = preemptible if head.is_preemptible else firm
                turns.setdefault(project_id, []).append((head.position, bucket))
        for turns in (firm, preemptible):
            for heads in turns.values():
                heapq.heapify(heads)
        return firm, preemptible

    def buckets(self) -> Iterator[Bucket]:
        """All buckets that are not empty."""
        for buckets in self.projects.values():
            yield from (bucket for bucket in buckets.values() if bucket.entries)

    def __len__(self) -> int:
        return sum(len(bucket.entries) for buckets in self.projects.values() for bucket in buckets.values())


def _class_of(duration: float | None) -> int | None:
    """Class of a duration; durations within a factor of four share one, so that there are fewer buckets than jobs."""
    return None if duration is None else ceil(log2(max(duration, 1.0)) / 2)
