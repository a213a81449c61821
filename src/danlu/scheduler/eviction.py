"""Which preemptible jobs have to go so that another one fits: the fewest tasks, and of those the newest."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import combinations

from danlu.scheduler.cluster import Cluster, Live
from danlu.scheduler.room import Held, Room, Taken
from danlu.scheduler.shape import Need, Shape

MAX_TRIES = 400
"""Sets of victims that are tried on one node before the newest are taken as they come."""

MAX_PRUNED = 64

MayEvict = Callable[[Live], bool]
Cost = tuple[int, float]
"""Tasks that end, and how old (negative start) the oldest of them is: smaller is better."""

_NOTHING: Cost = (0, float("-inf"))


def coming(room: Room) -> list[Held]:
    """What counts as free for a job that others make room for."""
    return list(room.coming.values())


def place_later(cluster: Cluster, shape: Shape) -> list[Taken] | None:
    """Take a place on what is free now or will be when those have ended that are ending."""
    if not cluster.coming:
        return None
    return cluster.place(shape, extra=coming, also=list(cluster.coming.values()))


def find_victims(cluster: Cluster, shape: Shape, may_evict: MayEvict) -> tuple[list[str], list[Taken]] | None:
    """Return who has to go, and the places that this gives to the job; None when that would not be enough.

    On return the victims count as ending and the places are taken; when there are none, nothing has changed.
    """
    if not cluster.evictable or not _could_be_enough(cluster, shape):
        return None
    victims: list[str] = []
    taken: list[Taken] = []
    used: set[str] = set()
    for need in shape.needs:
        if not _take_all(cluster, need, may_evict, victims=victims, taken=taken, used=used):
            cluster.give_back(taken)
            for job_id in victims:
                cluster.go_on(job_id)
            return None
    if len(victims) > 1 and shape.num_tasks > 1:
        return _without_needless(cluster, shape, victims, taken)
    return victims, taken


def _take_all(
    cluster: Cluster, need: Need, may_evict: MayEvict, *, victims: list[str], taken: list[Taken], used: set[str]
) -> bool:
    """Find the cheapest node for one task after the other."""
    offers: list[tuple[Cost, int, int, Room]] = []

    def offer(room: Room) -> None:
        found = cheapest(cluster, room, need, may_evict)
        if found is not None:
            heapq.heappush(offers, (found[0], room.number, room.version, room))

    for room in _rooms(cluster, need):
        offer(room)
    missing = need.num_tasks
    while missing and offers:
        _, _, version, room = heapq.heappop(offers)
        if room.name in used and not room.info.holds_many_tasks:
            continue
        if room.version != version:  # it changed since; a victim that went may have made it cheaper
            offer(room)
            continue
        found = cheapest(cluster, room, need, may_evict)
        assert found is not None
        for live in found[1]:
            cluster.end(live.job.id)
            victims.append(live.job.id)
            for other in live.rooms:
                if other is not room and (other.name not in used or other.info.holds_many_tasks):
                    offer(other)
        devices = room.fit(need, coming(room))
        assert devices is not None
        taken.append(cluster.take(room, need, devices))
        used.add(room.name)
        missing -= 1
        if room.info.holds_many_tasks:
            offer(room)
    return missing == 0


def cheapest(cluster: Cluster, room: Room, need: Need, may_evict: MayEvict) -> tuple[Cost, Sequence[Live]] | None:
    """The jobs on this node whose end costs least and makes a task fit; an empty list when it fits as it is."""
    extra = coming(room)
    if room.fit(need, extra) is not None:
        return _NOTHING, ()
    there = [cluster.live[job_id] for job_id in room.held if job_id not in room.coming and job_id in cluster.live]
    there = [live for live in there if cluster.is_evictable(live) and may_evict(live)]
    if not there or room.fit(need, extra + [room.held[live.job.id] for live in there]) is None:
        return None
    there.sort(key=lambda live: (live.num_tasks, -live.started, live.job.id))
    best: tuple[Cost, Sequence[Live]] | None = None
    tries = 0
    for size in range(1, len(there) + 1):
        if best is not None and sum(live.num_tasks for live in there[:size]) > best[0][0]:
            break
        for some in combinations(there, size):
            cost = sum(live.num_tasks for live in some), -min(live.started for live in some)
            if best is not None and cost >= best[0]:
                continue
            tries += 1
            if tries > MAX_TRIES:
                return best or _newest_first(room, need, extra, there)
            if room.fit(need, extra + [room.held[live.job.id] for live in some]) is not None:
                best = cost, some
    return best


def _newest_first(room: Room, need: Need, extra: list[Held], there: list[Live]) -> tuple[Cost, Sequence[Live]]:
    """Too many sets to try them all: add the newest until it fits, then spare whom it fits without."""
    chosen: list[Live] = []
    for live in sorted(there, key=lambda live: -live.started):
        chosen.append(live)
        if room.fit(need, extra + [room.held[one.job.id] for one in chosen]) is not None:
            break
    for live in sorted(chosen, key=lambda live: live.started):
        rest = [one for one in chosen if one is not live]
        if room.fit(need, extra + [room.held[one.job.id] for one in rest]) is not None:
            chosen = rest
    return (sum(live.num_tasks for live in chosen), -min(live.started for live in chosen)), chosen


def _without_needless(
    cluster: Cluster, shape: Shape, victims: list[str], taken: list[Taken]
) -> tuple[list[str], list[Taken]]:
    """Spare every victim that the job fits without, the oldest first."""
    for job_id in sorted(victims[:MAX_PRUNED], key=lambda job_id: (cluster.live[job_id].started, job_id)):
        cluster.give_back(taken)
        cluster.go_on(job_id)
        rooms = list(cluster.coming.values())
        found = cluster.place(shape, extra=coming, also=rooms)
        if found is not None:
            victims, taken = [other for other in victims if other != job_id], found
            continue
        cluster.end(job_id)
        again = [cluster.take(item.room, item.need, item.devices) for item in taken]
        taken = again
    return victims, taken


def _rooms(cluster: Cluster, need: Need) -> list[Room]:
    """Rooms worth a look: those that fit, as many as there are tasks, those where somebody ends or may have to."""
    found: dict[str, Room] = {}
    for room in cluster.candidates(need):
        if room.fit(need) is not None:
            found[room.name] = room
            if len(found) >= need.num_tasks:
                break
    found.update(cluster.coming)
    found.update(cluster.evictable)
    return list(found.values())


def _could_be_enough(cluster: Cluster, shape: Shape) -> bool:
    """A quick look at the sums, so that a hopeless request does not go through all nodes."""
    for need in shape.needs:
        if not need.devices:
            continue
        wanted, found = need.num_tasks * need.devices, 0
        for count, spots in cluster.by_free_count(need.type):
            found += count * len(spots)
        if found >= wanted:
            continue
        for name in cluster.evictable.keys() | cluster.coming.keys():
            for held in cluster.rooms[name].held.values():
                found += sum(1 for device in held.devices if device.type == need.type)
            if found >= wanted:
                break
        if found < wanted:
            return False
    return True
