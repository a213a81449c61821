"""Keeping nodes for a job that waits long, so that smaller ones do not pass it for ever.

The nodes are those that will be ready first: by the time limits of who is there, or, where nobody gave one, those on
which the fewest jobs have to end. What is kept on them is kept from all but jobs that are sure to have ended by then.
The same choice is made at every look: nothing new comes to a node that is kept, so it is ever nearer to being ready.
"""

from __future__ import annotations

from typing import NamedTuple

from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.offers import Offers
from danlu.scheduler.policy.room import ALREADY, Taken
from danlu.scheduler.policy.shape import Need, Shape

RESERVE_AFTER_SECONDS = 60.0
"""A job that has waited this long, and is the first of its project that could start, has nodes kept for it."""

MAX_RESERVATIONS = 8


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
        offers = _offers(cluster, need)
        passed = []
        for _ in range(need.num_tasks):
            best = offers.pop()
            while best is not None and best[1].name in used and not best[1].info.holds_many_tasks:
                passed.append(best[1])
                best = offers.pop()
            if best is None:
                break
            (ready, _), room = best
            devices = room.fit(need, room.until_ready(need))
            assert devices is not None
            taken.append(cluster.take(room, need, devices))
            used.add(room.name)
            last = max(last, ready)
        offers.changed.update(passed)
        if best is None:
            cluster.give_back(taken)
            return None
    return Reservation(job_id, taken, last)


def _offers(cluster: Cluster, need: Need) -> Offers:
    return cluster.offers(("ready", need._replace(num_tasks=1)), lambda room: room.ready(need), cluster.rooms.values())


class Lifted(NamedTuple):
    """What is let go of a reservation for a moment: the places where something is free."""

    reservation: Reservation
    idle: list[Taken]


def lift(cluster: Cluster, reservation: Reservation) -> Lifted:
    """Let go what is kept and free, so that a job can be tried that will have ended in time."""
    idle = [item for item in reservation.taken if len(item.later) < len(item.devices) or not item.need.devices]
    cluster.give_back(idle)
    return Lifted(reservation, idle)


def renew(cluster: Cluster, lifted: Lifted) -> Reservation:
    """Keep the same places again, less the devices that a job has got meanwhile: it gives them back in time."""
    again: dict[int, Taken] = {}
    for item in lifted.idle:
        free = item.room.free.get(item.need.type, {})
        devices = tuple(device for device in item.devices if device.id in free or device.id in item.later)
        again[id(item)] = cluster.take(item.room, item.need, devices)
    return lifted.reservation._replace(taken=[again.get(id(item), item) for item in lifted.reservation.taken])
