"""All nodes while a decision is made, found by what they have free: placing looks at those that may fit only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from danlu.scheduler.policy.offers import Offers, Rate
from danlu.scheduler.policy.room import NEVER, Held, Room, Taken
from danlu.scheduler.policy.shape import CPUS, MEMORY, TASKS, Need, Shape
from danlu.scheduler.policy.snapshot import FreeNode, RunningJob
from danlu.spec.devices import Device
from danlu.spec.nodes import NodeInfo

Extra = Callable[[Room], "list[Held] | None"]
MAX_OFFERS = 32
ANY = ""
"""The index of nodes by free devices of whatever type: a job without devices leaves nodes with devices alone."""


class Live:
    """A running job and where it is."""

    __slots__ = ("can_go", "ends", "job", "num_tasks", "rooms", "started")

    def __init__(self, job: RunningJob, rooms: Sequence[Room], ends: float) -> None:
        self.job = job
        self.rooms = rooms
        self.ends = ends
        self.started = job.started_at.timestamp()
        self.num_tasks = len(job.tasks)
        self.can_go = False
        """Whether it may be evicted: it is preemptible, has been started, and all of its nodes would hear it."""


class Cluster:
    def __init__(self, nodes: Iterable[FreeNode]) -> None:
        self.rooms: dict[str, Room] = {}
        self.capacity: dict[str, float] = {}
        self.live: dict[str, Live] = {}
        self.coming: dict[str, Room] = {}
        """Rooms in which somebody is ending."""
        self.evictable: dict[str, Room] = {}
        """Rooms with jobs that can go and are not ending."""
        self.can_go: dict[int, dict[str, Live]] = {}
        """The same jobs by project, the newest last."""
        self._by_free: dict[str, list[dict[str, Room]]] = {}
        self._could_hold: dict[tuple[Shape, bool], bool] = {}
        self._offers: dict[object, Offers] = {}
        for node in nodes:
            self.add_node(node)

    def add_node(self, node: FreeNode) -> None:
        room = self.rooms[node.info.name] = Room(node, len(self.rooms))
        self._count(room.info)
        self.refresh(room)

    def add(self, job: RunningJob) -> None:
        """A job runs. What it holds has been taken from what is free."""
        ends = NEVER if job.ends_at is None else job.ends_at.timestamp()
        by_room: dict[str, Held] = {}
        for task in job.tasks:
            if task.node in self.rooms:
                held = by_room.setdefault(task.node, Held(job.id, ends))
                held.add(task.devices, task.cpus, task.memory_bytes)
        rooms = [self.rooms[name] for name in by_room]
        live = self.live[job.id] = Live(job, rooms, ends)
        for room in rooms:
            room.put(by_room[room.name])
            self._changed(room)
        self._look_at(live)
        if job.is_ending:
            self.end(job.id)

    def confirm(self, job_id: str) -> None:
        """The job has been started: from now on it can be told to end."""
        live = self.live[job_id]
        live.job = replace(live.job, can_be_told=True)
        self._look_at(live)

    def _look_at(self, live: Live) -> None:
        job = live.job
        live.can_go = (
            job.is_preemptible
            and job.can_be_told
            and not job.is_ending
            and all(task.node in self.rooms for task in job.tasks)
        )
        if live.can_go:
            self.can_go.setdefault(job.project_id, {})[job.id] = live
            for room in live.rooms:
                self.evictable[room.name] = room
                self._changed(room)

    def remove(self, job_id: str) -> RunningJob | None:
        """A job has ended."""
        live = self.live.pop(job_id, None)
        if live is None:
            return None
        self.can_go.get(live.job.project_id, {}).pop(job_id, None)
        for room in live.rooms:
            if room.name in self.rooms:
                room.remove(job_id)
                self._note(room)
                self.refresh(room)
        return live.job

    def end(self, job_id: str) -> None:
        """A job is told to end: what it holds is coming."""
        live = self.live[job_id]
        self.can_go.get(live.job.project_id, {}).pop(job_id, None)
        for room in live.rooms:
            room.coming[job_id] = room.held[job_id]
            room.version += 1
            self._note(room)
            self._changed(room)

    def go_on(self, job_id: str) -> None:
        """Take `end` back."""
        live = self.live[job_id]
        if live.can_go:
            self.can_go.setdefault(live.job.project_id, {})[job_id] = live
        for room in live.rooms:
            del room.coming[job_id]
            room.version += 1
            self._note(room)
            self._changed(room)

    def place(self, shape: Shape, *, extra: Extra | None = None, also: Iterable[Room] = ()) -> list[Taken] | None:
        """Take a place for every task of the job, or none: spread over nodes, the fullest that fits before others.

        `extra` says what counts as free beside what is; `also` are rooms that fit only because of it.
        """
        taken: list[Taken] = []
        used: dict[str, Room] = {}
        for need in shape.needs:
            chosen = []
            for room in chain(self.candidates(need), also):
                if room.name in used:
                    continue
                devices = room.fit(need, extra(room) if extra is not None else None)
                if devices is not None:
                    used[room.name] = room
                    chosen.append((room, devices))
                    if len(chosen) == need.num_tasks:
                        break
            for room, devices in chosen:
                taken.append(self.take(room, need, devices))
            missing = need.num_tasks - len(chosen)
            if missing and self._share(need, missing, used, taken, extra) < missing:
                self.give_back(taken)
                return None
        return taken

    def take(self, room: Room, need: Need, devices: tuple[Device, ...]) -> Taken:
        taken = room.take(need, devices)
        self.refresh(room)
        return taken

    def give_back(self, taken: Sequence[Taken]) -> None:
        for item in reversed(taken):
            item.room.give_back(item)
            self.refresh(item.room)

    def offers(self, kind: object, rate: Rate, rooms: Iterable[Room]) -> Offers:
        """The rooms by a rating, kept from one call to the next; `kind` names the rating, `rooms` begin it."""
        found = self._offers.get(kind)
        if found is None:
            if len(self._offers) >= MAX_OFFERS:
                self._offers.pop(next(iter(self._offers)))
            found = self._offers[kind] = Offers(rate, rooms)
        return found

    def refresh(self, room: Room) -> None:
        """Find the room where it belongs after it changed."""
        self._changed(room)
        for spot in room.spots:
            spot.pop(room.name, None)
        room.spots = []
        for kind, free in room.free.items():
            self._put(kind, len(free), room)
        self._put(ANY, room.num_free, room)

    def could_hold(self, shape: Shape, *, with_drained: bool = False) -> bool:
        """Whether the nodes would have room for the job if they were empty, and if they were all open."""
        known = self._could_hold.get((shape, with_drained))
        if known is None:
            # of nodes that are alike, no more are looked at than the job has tasks
            alike: dict[object, list[NodeInfo]] = {}
            for room in self.rooms.values():
                if room.drain is not None and not with_drained:
                    continue
                same = alike.setdefault(_kind(room.info), [])
                if len(same) < shape.num_tasks:
                    same.append(room.info)
            empty = Cluster(empty_node(info) for infos in alike.values() for info in infos)
            known = self._could_hold[shape, with_drained] = empty.place(shape) is not None
        return known

    def _share(self, need: Need, missing: int, used: dict[str, Room], taken: list[Taken], extra: Extra | None) -> int:
        """Put more tasks on nodes that have one already, where nodes hold many. Return how many found a place."""
        found = 0
        for room in sorted(used.values(), key=lambda room: (room.num_free, room.number)):
            while found < missing and room.info.holds_many_tasks:
                devices = room.fit(need, extra(room) if extra is not None else None)
                if devices is None:
                    break
                taken.append(self.take(room, need, devices))
                found += 1
        return found

    def candidates(self, need: Need) -> Iterator[Room]:
        """The rooms that may fit, those with the fewest free devices first."""
        kind = need.type if need.devices else ANY
        for spots in self._by_free.get(kind, ())[need.devices :]:
            yield from spots.values()

    def by_free_count(self, kind: str) -> Iterator[tuple[int, dict[str, Room]]]:
        """The rooms by how many devices of a type they have free."""
        return enumerate(self._by_free.get(kind, ()))

    def _put(self, kind: str, count: int, room: Room) -> None:
        if room.num_tasks < 1 or room.drain is not None:
            return
        spots = self._by_free.setdefault(kind, [])
        while len(spots) <= count:
            spots.append({})
        spots[count][room.name] = room
        room.spots.append(spots[count])

    def _changed(self, room: Room) -> None:
        for offers in self._offers.values():
            offers.changed.add(room)

    def _note(self, room: Room) -> None:
        for table, belongs in (
            (self.coming, bool(room.coming)),
            (
                self.evictable,
                any(
                    job_id not in room.coming and self.live[job_id].can_go
                    for job_id in room.held
                    if job_id in self.live
                ),
            ),
        ):
            if belongs:
                table[room.name] = room
            else:
                table.pop(room.name, None)

    def _count(self, info: NodeInfo) -> None:
        self._could_hold.clear()
        amounts = {CPUS: info.cpus, MEMORY: float(info.memory_bytes), TASKS: float(info.max_tasks)}
        for device in info.devices:
            amounts[device.type] = amounts.get(device.type, 0.0) + 1
        for name, amount in amounts.items():
            self.capacity[name] = self.capacity.get(name, 0.0) + amount


def empty_node(info: NodeInfo) -> FreeNode:
    """The node with nothing on it."""
    return FreeNode(
        info=info,
        devices=info.devices,
        cpus=info.cpus,
        memory_bytes=info.memory_bytes,
        num_tasks=info.max_tasks,
    )


def _kind(info: NodeInfo) -> object:
    """What an empty node has to offer."""
    devices = tuple((device.type, device.model, device.id) for device in info.devices)
    return devices, info.cpus, info.memory_bytes, info.max_tasks, info.holds_many_tasks
