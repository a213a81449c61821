"""All nodes during a scheduling round, indexed by free devices, so that placement considers only nodes that may fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from danlu.scheduler.policy.node_state import NEVER, Allocation, Holding, NodeState
from danlu.scheduler.policy.ranking import NodeRanking, Rating
from danlu.scheduler.policy.shape import CPUS, MEMORY, TASKS, Need, Shape
from danlu.scheduler.policy.snapshot import FreeNode, RunningJob
from danlu.spec.devices import Device
from danlu.spec.nodes import NodeInfo

Extra = Callable[[NodeState], "list[Holding] | None"]
MAX_RANKINGS = 32
ANY = ""
"""Index key for free devices of any type: jobs without devices avoid nodes that have free devices."""


class PlacedJob:
    """A running job and its nodes."""

    __slots__ = ("ends", "is_evictable", "job", "nodes", "num_tasks", "started")

    def __init__(self, job: RunningJob, nodes: Sequence[NodeState], ends: float) -> None:
        self.job = job
        self.nodes = nodes
        self.ends = ends
        self.started = job.started_at.timestamp()
        self.num_tasks = len(job.tasks)
        self.is_evictable = False
        """Whether it can be evicted: preemptible, started, and all of its nodes are reachable."""


class Cluster:
    def __init__(self, free_nodes: Iterable[FreeNode]) -> None:
        self.nodes: dict[str, NodeState] = {}
        self.capacity: dict[str, float] = {}
        self.engines: dict[str, None] = {}
        """Names of the engines, used as an ordered set."""
        self.placed: dict[str, PlacedJob] = {}
        self.ending_nodes: dict[str, NodeState] = {}
        """By name: nodes with jobs that are ending."""
        self.evictable_nodes: dict[str, NodeState] = {}
        """By name: nodes with jobs that can be evicted and are not ending yet."""
        self.evictable_by_project: dict[int, dict[str, PlacedJob]] = {}
        """Project -> its jobs that can be evicted, newest last."""
        self._by_free: dict[str, list[dict[str, NodeState]]] = {}
        self._fits_when_empty: dict[tuple[Shape, bool], bool] = {}
        self._rankings: dict[object, NodeRanking] = {}
        for free_node in free_nodes:
            self.add_node(free_node)

    def add_node(self, free_node: FreeNode) -> None:
        node = self.nodes[free_node.info.name] = NodeState(free_node, len(self.nodes))
        self._count(node.info)
        self.refresh(node)

    def add(self, job: RunningJob) -> None:
        """Add a running job. Its resources must already be subtracted from what the nodes have free."""
        ends = NEVER if job.ends_at is None else job.ends_at.timestamp()
        by_node: dict[str, Holding] = {}
        for task in job.tasks:
            if task.node in self.nodes:
                holding = by_node.setdefault(task.node, Holding(job.id, ends))
                holding.add(task)
        nodes = [self.nodes[name] for name in by_node]
        placed = self.placed[job.id] = PlacedJob(job, nodes, ends)
        for node in nodes:
            node.put(by_node[node.name])
            self._changed(node)
        self._look_at(placed)
        if job.is_ending:
            self.mark_ending(job.id)

    def confirm(self, job_id: str) -> None:
        """Mark a job as started: it can be evicted from now on."""
        placed = self.placed[job_id]
        placed.job = replace(placed.job, can_be_stopped=True)
        self._look_at(placed)

    def _look_at(self, placed: PlacedJob) -> None:
        job = placed.job
        placed.is_evictable = (
            job.is_preemptible
            and job.can_be_stopped
            and not job.is_ending
            and all(task.node in self.nodes for task in job.tasks)
        )
        if placed.is_evictable:
            self.evictable_by_project.setdefault(job.project_id, {})[job.id] = placed
            for node in placed.nodes:
                self.evictable_nodes[node.name] = node
                self._changed(node)

    def remove(self, job_id: str) -> RunningJob | None:
        """Remove a job that ended; return it."""
        placed = self.placed.pop(job_id, None)
        if placed is None:
            return None
        self.evictable_by_project.get(placed.job.project_id, {}).pop(job_id, None)
        for node in placed.nodes:
            if node.name in self.nodes:
                node.remove(job_id)
                self._update_tables(node)
                self.refresh(node)
        return placed.job

    def exchange(self, gone: Iterable[str], new: Iterable[RunningJob]) -> None:
        """Remove jobs and add others, and recompute what is free on their nodes."""
        touched: dict[str, NodeState] = {}
        for job_id in gone:
            placed = self.placed.pop(job_id)
            self.evictable_by_project.get(placed.job.project_id, {}).pop(job_id, None)
            for node in placed.nodes:
                del node.holdings[job_id]
                node.ending.pop(job_id, None)
                touched[node.name] = node
        for job in new:
            self.add(job)
            touched.update((node.name, node) for node in self.placed[job.id].nodes)
        for node in touched.values():
            node.recount()
            self._update_tables(node)
            self.refresh(node)

    def mark_ending(self, job_id: str) -> None:
        """Count what a job holds as soon free, because it is stopping."""
        placed = self.placed[job_id]
        self.evictable_by_project.get(placed.job.project_id, {}).pop(job_id, None)
        for node in placed.nodes:
            node.ending[job_id] = node.holdings[job_id]
            node.version += 1
            self._update_tables(node)
            self._changed(node)

    def undo_ending(self, job_id: str) -> None:
        """Undo `mark_ending`."""
        placed = self.placed[job_id]
        if placed.is_evictable:
            self.evictable_by_project.setdefault(placed.job.project_id, {})[job_id] = placed
        for node in placed.nodes:
            del node.ending[job_id]
            node.version += 1
            self._update_tables(node)
            self._changed(node)

    def place(
        self, shape: Shape, *, extra: Extra | None = None, also: Iterable[NodeState] = ()
    ) -> list[Allocation] | None:
        """Allocate for all tasks of a job, or for none. One task per node, fullest fitting node first.

        A node gets several tasks only when there are too few nodes and its engine allows it. `extra` returns what
        counts as free in addition; `also` are nodes that fit only because of it.
        """
        for engine in self.engines_for(shape):
            found = self._place_on(engine, shape, extra=extra, also=also)
            if found is not None:
                return found
        return None

    def engines_for(self, shape: Shape) -> Sequence[str | None]:
        """The engines to try, in this order: an attempt never spans two of them. None: any node."""
        return list(self.engines) if shape.num_tasks > 1 and len(self.engines) > 1 else (None,)

    def _place_on(
        self, engine: str | None, shape: Shape, *, extra: Extra | None, also: Iterable[NodeState]
    ) -> list[Allocation] | None:
        allocations: list[Allocation] = []
        used: dict[str, NodeState] = {}
        for need in shape.needs:
            chosen = []
            for node in chain(self.candidates(need), also):
                if node.name in used or not node.is_of(engine):
                    continue
                devices = node.fit(need, extra(node) if extra is not None else None)
                if devices is not None:
                    used[node.name] = node
                    chosen.append((node, devices))
                    if len(chosen) == need.num_tasks:
                        break
            for node, devices in chosen:
                allocations.append(self.allocate(node, need, devices))
            missing = need.num_tasks - len(chosen)
            if missing and self._share(need, missing, used, allocations, extra) < missing:
                self.release(allocations)
                return None
        return allocations

    def allocate(self, node: NodeState, need: Need, devices: tuple[Device, ...]) -> Allocation:
        allocations = node.allocate(need, devices)
        self.refresh(node)
        return allocations

    def release(self, allocations: Sequence[Allocation]) -> None:
        for item in reversed(allocations):
            item.node.release(item)
            self.refresh(item.node)

    def ranking(self, kind: object, rate: Rating, nodes: Iterable[NodeState]) -> NodeRanking:
        """A ranking that is cached between calls: `kind` is its key, `nodes` are its initial members."""
        found = self._rankings.get(kind)
        if found is None:
            if len(self._rankings) >= MAX_RANKINGS:
                self._rankings.pop(next(iter(self._rankings)))
            found = self._rankings[kind] = NodeRanking(rate, nodes)
        return found

    def refresh(self, node: NodeState) -> None:
        """Update the index after a node changed."""
        self._changed(node)
        for spot in node.index_groups:
            spot.pop(node.name, None)
        node.index_groups = []
        for kind, free in node.free.items():
            self._put(kind, len(free), node)
        self._put(ANY, node.num_free, node)

    def fits_when_empty(self, shape: Shape, *, with_drained: bool = False) -> bool:
        """Whether the job would fit if all nodes were empty; `with_drained`: and if none were drained."""
        known = self._fits_when_empty.get((shape, with_drained))
        if known is None:
            # of identical nodes, consider no more than the job has tasks
            alike: dict[object, list[NodeInfo]] = {}
            for node in self.nodes.values():
                if node.drain is not None and not with_drained:
                    continue
                same = alike.setdefault(kind_of(node.info), [])
                if len(same) < shape.num_tasks:
                    same.append(node.info)
            empty = Cluster(empty_node(info) for infos in alike.values() for info in infos)
            known = self._fits_when_empty[shape, with_drained] = empty.place(shape) is not None
        return known

    def _share(
        self, need: Need, missing: int, used: dict[str, NodeState], allocations: list[Allocation], extra: Extra | None
    ) -> int:
        """Place more tasks on nodes that already have one, where the engine allows it. Return how many were placed."""
        found = 0
        need = need._replace(ports=())  # fixed ports exclude other jobs, not tasks of the same job
        for node in sorted(used.values(), key=lambda node: (node.num_free, node.number)):
            while found < missing and node.info.holds_many_tasks:
                devices = node.fit(need, extra(node) if extra is not None else None)
                if devices is None:
                    break
                allocations.append(self.allocate(node, need, devices))
                found += 1
        return found

    def candidates(self, need: Need) -> Iterator[NodeState]:
        """Nodes that may fit, fewest free devices first."""
        kind = need.type if need.devices else ANY
        for index_groups in self._by_free.get(kind, ())[need.devices :]:
            yield from index_groups.values()

    def by_free_count(self, kind: str) -> Iterator[tuple[int, dict[str, NodeState]]]:
        """Pairs of a number of free devices of a type and the nodes with that number."""
        return enumerate(self._by_free.get(kind, ()))

    def _put(self, kind: str, count: int, node: NodeState) -> None:
        if node.num_tasks < 1 or node.drain is not None:
            return
        index_groups = self._by_free.setdefault(kind, [])
        while len(index_groups) <= count:
            index_groups.append({})
        index_groups[count][node.name] = node
        node.index_groups.append(index_groups[count])

    def _changed(self, node: NodeState) -> None:
        for ranking in self._rankings.values():
            ranking.changed.add(node)

    def _update_tables(self, node: NodeState) -> None:
        for table, belongs in (
            (self.ending_nodes, bool(node.ending)),
            (
                self.evictable_nodes,
                any(
                    job_id not in node.ending and self.placed[job_id].is_evictable
                    for job_id in node.holdings
                    if job_id in self.placed
                ),
            ),
        ):
            if belongs:
                table[node.name] = node
            else:
                table.pop(node.name, None)

    def _count(self, info: NodeInfo) -> None:
        self._fits_when_empty.clear()
        self.engines.setdefault(info.engine)
        amounts = {CPUS: info.cpus, MEMORY: float(info.memory_bytes), TASKS: float(info.max_tasks)}
        for device in info.devices:
            amounts[device.type] = amounts.get(device.type, 0.0) + 1
        for name, amount in amounts.items():
            self.capacity[name] = self.capacity.get(name, 0.0) + amount


def empty_node(info: NodeInfo) -> FreeNode:
    """A node on which nothing runs."""
    return FreeNode(
        info=info,
        devices=info.devices,
        cpus=info.cpus,
        memory_bytes=info.memory_bytes,
        num_tasks=info.max_tasks,
    )


def kind_of(info: NodeInfo) -> object:
    """Key that is equal for nodes with equal capacity."""
    devices = tuple((device.type, device.model, device.id) for device in info.devices)
    return devices, info.cpus, info.memory_bytes, info.max_tasks, info.holds_many_tasks, info.engine
