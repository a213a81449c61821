"""Which preemptible jobs have to go so that another one fits: the fewest tasks, and of those the newest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, islice

from danlu.scheduler.policy.cluster import Cluster, Live
from danlu.scheduler.policy.offers import Offers
from danlu.scheduler.policy.room import Held, Room, Taken
from danlu.scheduler.policy.shape import Need, Shape

MAX_TRIES = 400
"""Sets of victims that are tried on one node before the newest are taken as they come."""

MAX_PRUNED = 64
MIN_LOOKED_AT = 256
"""Nodes that are looked at, at least, when only jobs of certain projects may have to go."""

MayEvict = Callable[[Live], bool]
Cost = tuple[int, float]
"""Tasks that end, and how old (negative start) the oldest of them is: smaller is better."""

_NOTHING: Cost = (0, float("-inf"))


def anybody(_live: Live) -> bool:
    return True


def coming(room: Room) -> list[Held]:
    """What counts as free for a job that others make room for."""
    return list(room.coming.values())


def place_later(cluster: Cluster, shape: Shape) -> list[Taken] | None:
    """Take a place on what is free now or will be when those have ended that are ending."""
    if not cluster.coming:
        return None
    return cluster.place(shape, extra=coming, also=list(cluster.coming.values()))


def find_victims(
    cluster: Cluster, shape: Shape, projects: frozenset[int] | None = None
) -> tuple[list[str], list[Taken]] | None:
    """Return who has to go, and the places that this gives to the job; None when that would not be enough.

    Anybody who can go may have to, or only jobs of certain projects, of which the newest are looked at.
    On return the victims count as ending and the places are taken; when there are none, nothing has changed.
    """
    if not cluster.evictable or not _could_be_enough(cluster, shape):
        return None
    victims: list[str] = []
    taken: list[Taken] = []
    used: set[str] = set()
    may_evict = anybody if projects is None else (lambda live: live.job.project_id in projects)
    rooms = None if projects is None else _newest_rooms(cluster, projects, max(MIN_LOOKED_AT, 4 * shape.num_tasks))
    for need in shape.needs:
        if not _take_all(cluster, need, may_evict, rooms=rooms, victims=victims, taken=taken, used=used):
            cluster.give_back(taken)
            for job_id in victims:
                cluster.go_on(job_id)
            return None
    if len(victims) > 1 and shape.num_tasks > 1:
        return _without_needless(cluster, shape, victims, taken)
    return victims, taken


def _take_all(
    cluster: Cluster,
    need: Need,
    may_evict: MayEvict,
    *,
    rooms: set[Room] | None,
    victims: list[str],
    taken: list[Taken],
    used: set[str],
) -> bool:
    """Find the cheapest node for one task after the other."""

    def rate(room: Room) -> Cost | None:
        found = cheapest(cluster, room, need, may_evict)
        return None if found is None else found[0]

    kind = ("evict", need._replace(num_tasks=1))
    if rooms is None:
        offers = cluster.offers(kind, rate, {**cluster.coming, **cluster.evictable}.values())
    else:
        offers = Offers(rate, {*cluster.coming.values(), *rooms})
    offers.changed.update(_fitting(cluster, need))
    passed = []
    missing = need.num_tasks
    while missing:
        best = offers.pop()
        if best is None:
            break
        room = best[1]
        if room.name in used and not room.info.holds_many_tasks:
            passed.append(room)
            continue
        found = cheapest(cluster, room, need, may_evict)
        assert found is not None
        for live in found[1]:
            cluster.end(live.job.id)
            victims.append(live.job.id)
            offers.changed.update(live.rooms)
        devices = room.fit(need, coming(room))
        assert devices is not None
        taken.append(cluster.take(room, need, devices))
        offers.changed.add(room)
        used.add(room.name)
        missing -= 1
    offers.changed.update(passed)
    return missing == 0


def cheapest(cluster: Cluster, room: Room, need: Need, may_evict: MayEvict) -> tuple[Cost, Sequence[Live]] | None:
    """The jobs on this node whose end costs least and makes a task fit; an empty list when it fits as it is."""
    extra = coming(room)
    if room.fit(need, extra) is not None:
        return _NOTHING, ()
    there = [cluster.live[job_id] for job_id in room.held if job_id not in room.coming and job_id in cluster.live]
    there = [live for live in there if live.can_go and may_evict(live)]
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


def _newest_rooms(cluster: Cluster, projects: frozenset[int], limit: int) -> set[Room]:
    """The rooms of the newest jobs of these projects."""
    found: set[Room] = set()
    for project_id in projects:
        for live in islice(reversed(cluster.can_go.get(project_id, {}).values()), limit):
            found.update(live.rooms)
    return found


def _fitting(cluster: Cluster, need: Need) -> list[Room]:
    """Rooms that fit as they are, as many as there are tasks."""
    return list(islice((room for room in cluster.candidates(need) if room.fit(need) is not None), need.num_tasks))


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
