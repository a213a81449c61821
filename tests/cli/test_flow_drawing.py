"""Drawing graphs: lanes of text, and the layout of the picture."""

from __future__ import annotations

import itertools
import random

import pytest

from danlu.cli.tracking.flow_lanes import rows
from danlu.cli.tracking.flow_layout import GAP, NODE_HEIGHT, Edge, lay_out
from danlu.cli.tracking.flow_svg import shortened


def lines(edges: str) -> list[str]:
    """Lanes, and the name of each node, of a graph written `ab bc`."""
    pairs = edges.split()
    nodes = sorted({node for pair in pairs for node in pair})
    targets: dict[str, list[str]] = {node: [] for node in nodes}
    for pair in pairs:
        targets[pair[0]].append(pair[1])
    drawn = rows(nodes, targets, dict.fromkeys(nodes, "*"))
    return [row.lanes if row.node is None else " ".join([row.lanes, row.node, *row.again]) for row in drawn]


class TestLanes:
    def test_a_chain(self) -> None:
        assert lines("ab bc") == ["* a", "* b", "* c"]

    def test_two_come_together(self) -> None:
        assert lines("ac bc") == ["* a", "│ * b", "├─╯", "* c"]

    def test_one_becomes_two(self) -> None:
        assert lines("ab ac") == ["* a", "├─╮", "* │ b", "  * c"]

    def test_a_lane_passes_over_a_line(self) -> None:
        assert lines("ay az by bz") == ["* a", "├─╮", "│ │ * b", "├─│─┤", "│ ├─╯", "* │ y", "  * z"]

    def test_things_that_have_nothing_to_do_with_each_other_do_not_touch(self) -> None:
        assert lines("ab cd") == ["* a", "* b", "", "* c", "* d"]

    def test_a_circle_is_named(self) -> None:
        assert lines("ab ba") == ["* a", "* b a"]

    def test_every_node_is_drawn_once_below_what_it_comes_from(self) -> None:
        chance = random.Random(3)
        for _ in range(50):
            nodes = [f"n{number}" for number in range(12)]
            targets = {node: chance.sample(nodes[place + 1 :], min(2, 11 - place)) for place, node in enumerate(nodes)}
            drawn = [row.node for row in rows(nodes, targets, dict.fromkeys(nodes, "*")) if row.node is not None]
            assert sorted(drawn) == sorted(nodes)
            assert all(drawn.index(node) < drawn.index(target) for node in nodes for target in targets[node])


class TestLayout:
    def test_edges_go_right_and_nodes_keep_their_distance(self) -> None:
        chance = random.Random(5)
        nodes = [str(number) for number in range(60)]
        edges = [Edge(*sorted(chance.sample(nodes, 2), key=int)) for _ in range(120)]
        found = lay_out(nodes, edges)
        assert all(found.layers[edge.source] < found.layers[edge.target] for edge in edges)
        for layer in range(found.num_layers):
            heights = sorted(found.heights[node] for node in nodes if found.layers[node] == layer)
            gaps = [after - before for before, after in itertools.pairwise(heights)]
            assert all(gap >= NODE_HEIGHT + GAP - 1e-6 for gap in gaps)
        for edge, way in found.ways.items():
            assert len(way) == found.layers[edge.target] - found.layers[edge.source] - 1
        assert min(found.heights.values()) >= NODE_HEIGHT / 2 - 1e-6

    def test_what_need_not_cross_does_not(self) -> None:
        found = lay_out(["a", "b", "x", "y"], [Edge("a", "y"), Edge("b", "x")])
        assert (found.heights["a"] < found.heights["b"]) == (found.heights["y"] < found.heights["x"])

    def test_a_source_is_next_to_what_it_leads_to(self) -> None:
        found = lay_out(["a", "b", "c", "code"], [Edge("a", "b"), Edge("b", "c"), Edge("code", "c")])
        assert found.layers == {"a": 0, "b": 1, "c": 2, "code": 1}

    def test_circles_and_single_nodes(self) -> None:
        assert lay_out(["a"], []).num_layers == 1
        found = lay_out(["a", "b", "c"], [Edge("a", "b"), Edge("b", "c"), Edge("c", "a"), Edge("a", "a")])
        assert sorted(found.layers.values()) == [0, 1, 2]
        assert len(found.ways[Edge("c", "a")]) == 1


@pytest.mark.parametrize(
    ("text", "most", "short"),
    [("short", 5, "short"), ("0123456789", 7, "012…789"), ("炼丹炉炼丹炉", 8, "炼…丹炉")],
)
def test_the_middle_of_long_names_is_left_out(text: str, most: int, short: str) -> None:
    assert shortened(text, most) == short
