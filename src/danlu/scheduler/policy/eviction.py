"""Which preemptible jobs to evict so that another job fits: as few tasks as possible, then the newest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

from danlu.scheduler.policy.cluster import Cluster, PlacedJob
from danlu.scheduler.policy.node_state import Allocation, Holding, NodeState
from danlu.scheduler.policy.ranking import NodeRanking
from danlu.scheduler.policy.shape import Need, Shape

MAX_TRIES = 400
"""Sets of victims tried on one node; after that the best so far is used, or the newest jobs one by one."""

MAX_PRUNED = 64
MIN_LOOKED_AT = 256
"""Minimum number of nodes considered when only jobs of certain projects may be evicted."""

MayEvict = Callable[[PlacedJob], bool]
Cost = tuple[int, float]
"""Number of evicted tasks, and the negated start time of the oldest: smaller is better."""

_NOTHING: Cost = (0, float("-inf"))


def anybody(_placed: PlacedJob) -> bool:
    return True


def ending_on(node: NodeState) -> list[Holding]:
    """Holdings of ending jobs on a node, which count as free for a job that evicts others."""
    return list(node.ending.values())


def place_later(cluster: Cluster, shape: Shape) -> list[Allocation] | None:
    """Allocate from what is free now, or will be once the jobs that are ending have ended."""
    if not cluster.ending_nodes:
        return None
    return cluster.place(shape, extra=ending_on, also=list(cluster.ending_nodes.values()))


def find_victims(
    cluster: Cluster, shape: Shape, projects: frozenset[int] | None = None
) -> tuple[list[str], list[Allocation]] | None:
    """Return the jobs to evict and the allocations this makes possible; None when evictions would not be enough.

    `projects`: only evict jobs of these, looking at the newest. On return the victims are marked as ending and the
    allocations are made; with None nothing has changed.
    """
    if not cluster.evictable_nodes or not _could_be_enough(cluster, shape):
        return None
    may_evict = anybody if projects is None else (lambda placed: placed.job.project_id in projects)
    nodes = None if projects is None else _newest_nodes(cluster, projects, max(MIN_LOOKED_AT, 4 * shape.num_tasks))
    for engine in cluster.engines_for(shape):
        search = _Search(cluster, engine, may_evict, nodes)
        if not all(_place_all(search, need) for need in shape.needs):
            search.undo()
        elif len(search.victims) > 1 and shape.num_tasks > 1:
            return _without_needless_victims(cluster, shape, search.victims, search.allocations)
        else:
            return search.victims, search.allocations
    return None


@dataclass
class _Search:
    """A search for victims and allocations on the nodes of one engine, with the result so far."""

    cluster: Cluster
    engine: str | None
    may_evict: MayEvict
    nodes: set[NodeState] | None
    """Nodes to evict from; None: all."""

    victims: list[str] = field(default_factory=list)
    allocations: list[Allocation] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def undo(self) -> None:
        self.cluster.release(self.allocations)
        for job_id in self.victims:
            self.cluster.undo_ending(job_id)


def _place_all(search: _Search, need: Need) -> bool:
    """Place tasks one by one, each on the node where eviction costs least."""
    cluster, engine, may_evict, nodes = search.cluster, search.engine, search.may_evict, search.nodes

    def rate(node: NodeState) -> Cost | None:
        found = cheapest(cluster, node, need, may_evict) if node.is_of(engine) else None
        return None if found is None else found[0]

    kind = ("evict", engine, need._replace(num_tasks=1))
    if nodes is None:
        ranking = cluster.ranking(kind, rate, {**cluster.ending_nodes, **cluster.evictable_nodes}.values())
    else:
        ranking = NodeRanking(rate, {*cluster.ending_nodes.values(), *nodes})
    ranking.changed.update(_fitting(cluster, need))
    passed = []
    missing = need.num_tasks
    while missing:
        best = ranking.pop()
        if best is None:
            break
        node = best[1]
        if node.name in search.used and not node.info.holds_many_tasks:
            passed.append(node)
            continue
        found = cheapest(cluster, node, need, may_evict)
        assert found is not None
        for placed in found[1]:
            cluster.mark_ending(placed.job.id)
            search.victims.append(placed.job.id)
            ranking.changed.update(placed.nodes)
        devices = node.fit(need, ending_on(node))
        assert devices is not None
        search.allocations.append(cluster.allocate(node, need, devices))
        ranking.changed.add(node)
        search.used.add(node.name)
        missing -= 1
    ranking.changed.update(passed)
    return missing == 0


def cheapest(
    cluster: Cluster, node: NodeState, need: Need, may_evict: MayEvict
) -> tuple[Cost, Sequence[PlacedJob]] | None:
    """The cheapest jobs to evict on this node so that a task fits; an empty list when it fits already."""
    extra = ending_on(node)
    if node.fit(need, extra) is not None:
        return _NOTHING, ()
    there = [
        cluster.placed[job_id] for job_id in node.holdings if job_id not in node.ending and job_id in cluster.placed
    ]
    there = [placed for placed in there if placed.is_evictable and may_evict(placed)]
    if not there or node.fit(need, extra + [node.holdings[placed.job.id] for placed in there]) is None:
        return None
    there.sort(key=lambda placed: (placed.num_tasks, -placed.started, placed.job.id))
    best: tuple[Cost, Sequence[PlacedJob]] | None = None
    tries = 0
    for size in range(1, len(there) + 1):
        if best is not None and sum(placed.num_tasks for placed in there[:size]) > best[0][0]:
            break
        for some in combinations(there, size):
            cost = sum(placed.num_tasks for placed in some), -min(placed.started for placed in some)
            if best is not None and cost >= best[0]:
                continue
            tries += 1
            if tries > MAX_TRIES:
                return best or _newest_first(node, need, extra, there)
            if node.fit(need, extra + [node.holdings[placed.job.id] for placed in some]) is not None:
                best = cost, some
    return best


def _newest_first(
    node: NodeState, need: Need, extra: list[Holding], there: list[PlacedJob]
) -> tuple[Cost, Sequence[PlacedJob]]:
    """Too many sets to try: add the newest jobs until the task fits, then drop those it fits without."""
    chosen: list[PlacedJob] = []
    for placed in sorted(there, key=lambda placed: -placed.started):
        chosen.append(placed)
        if node.fit(need, extra + [node.holdings[one.job.id] for one in chosen]) is not None:
            break
    for placed in sorted(chosen, key=lambda placed: placed.started):
        rest = [one for one in chosen if one is not placed]
        if node.fit(need, extra + [node.holdings[one.job.id] for one in rest]) is not None:
            chosen = rest
    return (sum(placed.num_tasks for placed in chosen), -min(placed.started for placed in chosen)), chosen


def _without_needless_victims(
    cluster: Cluster, shape: Shape, victims: list[str], allocations: list[Allocation]
) -> tuple[list[str], list[Allocation]]:
    """Drop every victim that the job fits without, oldest first."""
    for job_id in sorted(victims[:MAX_PRUNED], key=lambda job_id: (cluster.placed[job_id].started, job_id)):
        cluster.release(allocations)
        cluster.undo_ending(job_id)
        nodes = list(cluster.ending_nodes.values())
        found = cluster.place(shape, extra=ending_on, also=nodes)
        if found is not None:
            victims, allocations = [other for other in victims if other != job_id], found
            continue
        cluster.mark_ending(job_id)
        again = [cluster.allocate(item.node, item.need, item.devices) for item in allocations]
        allocations = again
    return victims, allocations


def _newest_nodes(cluster: Cluster, projects: frozenset[int], limit: int) -> set[NodeState]:
    """Nodes of the newest jobs of these projects."""
    found: set[NodeState] = set()
    for project_id in projects:
        for placed in islice(reversed(cluster.evictable_by_project.get(project_id, {}).values()), limit):
            found.update(placed.nodes)
    return found


def _fitting(cluster: Cluster, need: Need) -> list[NodeState]:
    """Nodes on which a task fits now, at most one per task."""
    return list(islice((node for node in cluster.candidates(need) if node.fit(need) is not None), need.num_tasks))


def _could_be_enough(cluster: Cluster, shape: Shape) -> bool:
    """Whether the totals would suffice: a cheap check before all nodes are searched."""
    for need in shape.needs:
        if not need.devices:
            continue
        wanted, found = need.num_tasks * need.devices, 0
        for count, index_groups in cluster.by_free_count(need.type):
            found += count * len(index_groups)
        if found >= wanted:
            continue
        for name in cluster.evictable_nodes.keys() | cluster.ending_nodes.keys():
            for holding in cluster.nodes[name].holdings.values():
                found += sum(1 for device in holding.devices if device.type == need.type)
            if found >= wanted:
                break
        if found < wanted:
            return False
    return True
