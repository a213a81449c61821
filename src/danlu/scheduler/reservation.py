"""Keeping nodes for a job that waits long, so that smaller ones do not pass it for ever.

The nodes are those that will be ready first: by the time limits of who is there, or, where nobody gave one, those on
which the fewest jobs have to end. What is kept on them is kept from all but jobs that are sure to have ended by then.
The same choice is made at every look: nothing new comes to a node that is kept, so it is ever nearer to being ready.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

from danlu.scheduler.cluster import Cluster
from danlu.scheduler.room import ALREADY, Room, Taken
from danlu.scheduler.shape import Shape

RESERVE_AFTER_SECONDS = 60.0
"""A job that has waited this long, and is the first of its project that could start, has nodes kept for it."""

MAX_RESERVATIONS = 16


class Reservation(NamedTuple):
    job_id: str
    taken: list[Taken]
    ready: float
    """Unix time at which the last node will be ready; infinite when nobody knows."""


def reserve(cluster: Cluster, job_id: str, shape: Shape) -> Reservation | None:
    """Keep the places that will be ready first; None when the job would not even fit then."""
    taken: list[Taken] = []
    used: set[str] = set()
    last = ALREADY
    for need in shape.needs:
        offers: list[tuple[float, int, int, Room]] = []
        for room in cluster.rooms.values():
            found = room.ready(need) if room.name not in used or room.info.holds_many_tasks else None
            if found is not None:
                offers.append((*found, room.number, room))
        heapq.heapify(offers)
        for _ in range(need.num_tasks):
            if not offers:
                cluster.give_back(taken)
                return None
            ready, _, _, room = heapq.heappop(offers)
            devices = room.fit(need, room.until_ready(need))
            assert devices is not None
            taken.append(cluster.take(room, need, devices))
            used.add(room.name)
            last = max(last, ready)
            again = room.ready(need) if room.info.holds_many_tasks else None
            if again is not None:
                heapq.heappush(offers, (*again, room.number, room))
    return Reservation(job_id, taken, last)


def lift(cluster: Cluster, reservation: Reservation) -> None:
    """Let go for a moment what is kept, so that a job can be tried that will have ended in time."""
    cluster.give_back(reservation.taken)


def renew(cluster: Cluster, reservation: Reservation) -> Reservation:
    """Keep the same places again, less the devices that a job has got meanwhile: it gives them back in time."""
    taken = []
    for item in reservation.taken:
        free = item.room.free.get(item.need.type, {})
        devices = tuple(device for device in item.devices if device.id in free or device in item.later)
        taken.append(cluster.take(item.room, item.need, devices))
    return reservation._replace(taken=taken)
