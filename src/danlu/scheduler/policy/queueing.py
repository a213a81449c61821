"""The queue of each project: jobs that are alike share a bucket, and what holds one of them up holds them all."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from math import ceil, log2

from danlu.scheduler.policy.shape import Shape
from danlu.scheduler.policy.snapshot import QueuedJob

Place = tuple[int, float, str]
"""Where a job stands in its project: by priority, then by time, then by id."""


class Entry:
    """A queued job with what the policy asks of it again and again."""

    __slots__ = ("duration", "is_preemptible", "job", "owner_id", "place", "project_id", "queued", "shape")

    def __init__(self, job: QueuedJob) -> None:
        self.job = job
        self.shape: Shape = job.shape
        self.project_id = job.project_id
        self.owner_id = job.owner_id
        self.is_preemptible = job.spec.preemptible
        limit = job.spec.max_duration
        self.duration = None if limit is None else limit + job.spec.grace
        """Seconds after which it has ended for sure; None when nobody knows."""
        self.queued = job.queued_at.timestamp()
        self.place: Place = (-job.spec.priority, self.queued, job.id)

    def __lt__(self, other: Entry) -> bool:
        return self.place < other.place


class Bucket:
    """Jobs of one user that ask for the same, in their order."""

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


Turn = tuple[Place, Bucket]
"""A bucket and where its head stands: no two jobs stand at the same place."""


class Queue:
    """All that could start now, by project."""

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
        """For each project its buckets as a heap, the first one on top: firm jobs, and preemptible ones."""
        firm: dict[int, list[Turn]] = {}
        preemptible: dict[int, list[Turn]] = {}
        for project_id, buckets in self.projects.items():
            for key in [key for key, bucket in buckets.items() if not bucket.entries]:
                del buckets[key]
            for bucket in buckets.values():
                head = bucket.entries[0]
                turns = preemptible if head.is_preemptible else firm
                turns.setdefault(project_id, []).append((head.place, bucket))
        for turns in (firm, preemptible):
            for heads in turns.values():
                heapq.heapify(heads)
        return firm, preemptible

    def buckets(self) -> Iterator[Bucket]:
        """All that hold a job."""
        for buckets in self.projects.values():
            yield from (bucket for bucket in buckets.values() if bucket.entries)

    def __len__(self) -> int:
        return sum(len(bucket.entries) for buckets in self.projects.values() for bucket in buckets.values())


def _class_of(duration: float | None) -> int | None:
    """Durations that differ by less than a factor of four are alike: one bucket for each would be as many as jobs."""
    return None if duration is None else ceil(log2(max(duration, 1.0)) / 2)
