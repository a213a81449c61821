"""Where the nodes of a layered graph are drawn: layers from left to right, few crossings, short edges. Pure.

Long edges are cut into pieces by places that nothing is drawn at, one per layer they pass, so that they run between
nodes and not below them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

SWEEPS = 12
NODE_HEIGHT, BEND_HEIGHT, GAP = 58.0, 10.0, 22.0


class Edge(NamedTuple):
    source: str
    target: str


@dataclass(frozen=True)
class Layout:
    layers: dict[str, int]
    heights: dict[str, float]
    """Where the middle of a node is, from the top."""

    ways: dict[Edge, list[tuple[int, float]]]
    """Layer and height of the places where an edge bends."""

    num_layers: int
    height: float


def lay_out(nodes: Sequence[str], edges: Iterable[Edge]) -> Layout:
    forward = _without_circles(nodes, list(dict.fromkeys(edges)))
    layers = _layers(nodes, forward.values())
    chains = {edge: _chain(edge, turned, layers) for edge, turned in forward.items()}
    columns, links = _columns(nodes, layers, chains.values())
    _untangle(columns, links)
    heights = _heights(columns, links)
    top = min((heights[name] - _size(name) / 2 for name in heights), default=0.0)
    heights = {name: height - top for name, height in heights.items()}
    bottom = max((heights[name] + _size(name) / 2 for name in heights), default=0.0)
    ways = {
        edge: [(_layer_of_bend(name), heights[name]) for name in (chain if edge == forward[edge] else chain[::-1])]
        for edge, chain in ((edge, chain[1:-1]) for edge, chain in chains.items())
    }
    return Layout(layers, {name: heights[name] for name in nodes}, ways, len(columns), bottom)


def _without_circles(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[Edge, Edge]:
    """Each edge as it is, or turned round where it would close a circle."""
    targets: dict[str, list[str]] = {node: [] for node in nodes}
    for edge in edges:
        targets[edge.source].append(edge.target)
    state: dict[str, int] = {}
    turned: dict[Edge, Edge] = {}
    for start in nodes:
        if start in state:
            continue
        stack = [(start, iter(targets[start]))]
        state[start] = 1
        while stack:
            node, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                state[node] = 2
                stack.pop()
                continue
            is_back = state.get(target) == 1
            edge = Edge(node, target)
            turned[edge] = Edge(target, node) if is_back else edge
            if target not in state:
                state[target] = 1
                stack.append((target, iter(targets[target])))
    return {edge: turned[edge] for edge in edges if edge.source != edge.target}


def _layers(nodes: Sequence[str], edges: Iterable[Edge]) -> dict[str, int]:
    """As far right as what it comes from demands; what comes from nothing is next to what it leads to."""
    targets: dict[str, list[str]] = {node: [] for node in nodes}
    waits_for = dict.fromkeys(nodes, 0)
    for edge in edges:
        targets[edge.source].append(edge.target)
        waits_for[edge.target] += 1
    sources = [node for node in nodes if waits_for[node] == 0]
    layers = dict.fromkeys(nodes, 0)
    ready = list(sources)
    for node in ready:
        for target in targets[node]:
            layers[target] = max(layers[target], layers[node] + 1)
            waits_for[target] -= 1
            if waits_for[target] == 0:
                ready.append(target)
    for node in sources:
        if targets[node]:
            layers[node] = min(layers[target] for target in targets[node]) - 1
    return layers


def _chain(edge: Edge, turned: Edge, layers: Mapping[str, int]) -> list[str]:
    """The ends of an edge and the places between them, from left to right."""
    bends = [
        f"\0{number}\0{edge.source}\0{edge.target}"
        for number in range(layers[turned.source] + 1, layers[turned.target])
    ]
    return [turned.source, *bends, turned.target]


def _layer_of_bend(name: str) -> int:
    return int(name.split("\0")[1])


def _size(name: str) -> float:
    return BEND_HEIGHT if name.startswith("\0") else NODE_HEIGHT


def _columns(
    nodes: Sequence[str], layers: Mapping[str, int], chains: Iterable[list[str]]
) -> tuple[list[list[str]], dict[str, list[str]]]:
    """What is in each layer, and what each thing is connected to, on both sides."""
    columns: list[list[str]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for node in nodes:
        columns[layers[node]].append(node)
    links: dict[str, list[str]] = {node: [] for node in nodes}
    for chain in chains:
        for name in chain[1:-1]:
            columns[_layer_of_bend(name)].append(name)
            links[name] = []
        for here, there in zip(chain, chain[1:]):
            links[here].append(there)
            links[there].append(here)
    return columns, links


def _untangle(columns: list[list[str]], links: Mapping[str, list[str]]) -> None:
    """Order each layer by the middle of its neighbours, to and fro; keep the order with the fewest crossings."""
    best, fewest = [list(column) for column in columns], _crossings(columns, links)
    for sweep in range(SWEEPS):
        numbers = range(1, len(columns)) if sweep % 2 == 0 else range(len(columns) - 2, -1, -1)
        for number in numbers:
            beside = columns[number - 1 if sweep % 2 == 0 else number + 1]
            places = {name: place for place, name in enumerate(beside)}
            columns[number].sort(key=_middle(places, links, columns[number]))
        crossings = _crossings(columns, links)
        if crossings < fewest:
            best, fewest = [list(column) for column in columns], crossings
    columns[:] = best


def _middle(places: Mapping[str, int], links: Mapping[str, list[str]], column: list[str]) -> Callable[[str], float]:
    now = {name: float(place) for place, name in enumerate(column)}

    def middle(name: str) -> float:
        found = [places[other] for other in links[name] if other in places]
        return sum(found) / len(found) if found else now[name]

    return middle


def _crossings(columns: Sequence[Sequence[str]], links: Mapping[str, list[str]]) -> int:
    count = 0
    for left, right in zip(columns, columns[1:]):
        places = {name: place for place, name in enumerate(right)}
        ends = [sorted(places[other] for other in links[name] if other in places) for name in left]
        seen: list[int] = []
        for group in ends:
            count += sum(1 for end in group for other in seen if other > end)
            seen += group
    return count


def _heights(columns: Sequence[Sequence[str]], links: Mapping[str, list[str]]) -> dict[str, float]:
    """Draw everything towards its neighbours, as far as the others in its layer let it."""
    heights: dict[str, float] = {}
    for column in columns:
        at = 0.0
        for name in column:
            heights[name] = at + _size(name) / 2
            at += _size(name) + GAP
    for sweep in range(2 * SWEEPS):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            wanted = [
                sum(heights[other] for other in links[name]) / len(links[name]) if links[name] else heights[name]
                for name in column
            ]
            heights.update(zip(column, _apart(wanted, [_size(name) for name in column])))
    return heights


def _apart(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """The heights nearest to the wanted ones that keep order and distance: those too close move as one block."""
    offsets, at = [], 0.0
    for number, size in enumerate(sizes):
        at += size / 2 + (sizes[number - 1] / 2 + GAP if number else 0.0)
        offsets.append(at)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, size = blocks.pop()
            mean, count = (before * size + mean * count) / (size + count), size + count
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets)]
