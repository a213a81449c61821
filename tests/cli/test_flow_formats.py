"""The data flow as a tree, as DOT and as Mermaid."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from danlu.cli.tracking.flow_formats import to_dot, to_mermaid, to_tree
from danlu.client.tracking.flow import Flow
from danlu.spec.flow import Direction, NodeKind, Relation
from danlu.wire.flow import FlowEdge, FlowNode

HOSTILE = 'x"]; evil [a="\\"\n<script>`#;|{}\x1b]0;t\x07\u202e'


def make_flow(edges: str, root: str, **labels: str) -> Flow:
    """A graph of runs, written `ab bc`."""
    pairs = edges.split()
    names = dict.fromkeys(node for pair in pairs for node in pair)
    nodes = {
        name: FlowNode(id=name, kind=NodeKind.RUN, key=f"id-{name}", label=labels.get(name, name), distance=0)
        for name in names
    }
    return Flow(root, nodes, [FlowEdge(source=pair[0], target=pair[1], relation=Relation.INPUT) for pair in pairs])


def tree(edges: str, root: str, direction: Direction = Direction.BOTH) -> list[str]:
    shown = "\n".join(to_tree(make_flow(edges, root), direction))
    return re.sub(r"run       (\w)  id-\w", r"\1", shown).replace("  (input)", "").splitlines()


class TestTree:
    def test_upstream_and_downstream_below_the_node(self) -> None:
        assert tree("ac bc cd de df", "c") == [
            "c",
            "├─ upstream",
            "│  ├─ a",
            "│  └─ b",
            "└─ downstream",
            "   └─ d",
            "      ├─ e",
            "      └─ f",
        ]

    def test_one_direction_needs_no_heading(self) -> None:
        assert tree("ab bc", "a", Direction.DOWN) == ["a", "└─ b", "   └─ c"]
        assert tree("ab bc", "c", Direction.UP) == ["c", "└─ b", "   └─ a"]

    def test_a_node_is_expanded_once(self) -> None:
        assert tree("ab ac bd cd de", "a", Direction.DOWN) == [
            "a",
            "├─ b",
            "│  └─ d",
            "│     └─ e",
            "└─ c",
            "   └─ d  (shown above)",
        ]

    def test_a_cycle_ends(self) -> None:
        assert tree("ab ba", "a", Direction.DOWN) == ["a", "└─ b", "   └─ a  (shown above)"]

    def test_a_node_alone(self) -> None:
        alone = Flow("a", {"a": make_flow("ab", "a").nodes["a"]})
        assert list(to_tree(alone, Direction.BOTH)) == ["run       a  id-a"]

    def test_ten_thousand_steps(self) -> None:
        flow = make_flow("", "n0")
        nodes = {f"n{n}": FlowNode(id=f"n{n}", kind=NodeKind.JOB, label="j", distance=n) for n in range(10_000)}
        edges = [FlowEdge(source=f"n{n}", target=f"n{n + 1}", relation=Relation.MADE) for n in range(9_999)]
        flow = Flow("n0", nodes, edges)
        assert sum(1 for _ in to_tree(flow, Direction.DOWN)) == 10_000

    def test_deleted_and_hidden_nodes(self) -> None:
        gone = FlowNode(
            id="b",
            kind=NodeKind.MODEL,
            key="mv-1",
            label="m:1",
            distance=1,
            deleted_at=datetime(2026, 1, 1, tzinfo=timezone.utc),
        )
        hidden = FlowNode(id="hidden:1", kind=NodeKind.STORE, distance=1, is_hidden=True)
        flow = make_flow("ab", "a")
        flow.nodes.update({"b": gone, "hidden:1": hidden})
        flow.edges.append(FlowEdge(source="a", target="hidden:1", relation=Relation.OUTPUT))
        assert list(to_tree(flow, Direction.DOWN))[1:] == [
            "├─ model     m:1  mv-1  deleted  (input)",
            "└─ store     in a project that you are not a member of  (output)",
        ]


class TestFormats:
    def test_dot(self) -> None:
        assert to_dot(make_flow("ab", "a")).splitlines() == [
            "digraph flow {",
            "  rankdir=LR;",
            '  node [shape=box, style="rounded", fontname="sans-serif"];',
            '  n0 [label="run\\na\\nid-a", penwidth=2];',
            '  n1 [label="run\\nb\\nid-b"];',
            '  n0 -> n1 [label="input"];',
            "}",
        ]

    def test_mermaid(self) -> None:
        assert to_mermaid(make_flow("ab", "a")).splitlines() == [
            "flowchart LR",
            '  n0["run<br/>a<br/>id-a"]',
            '  n1["run<br/>b<br/>id-b"]',
            "  n0 -->|input| n1",
            "  style n0 stroke-width:3px",
        ]

    def test_hostile_names_stay_within_their_label(self) -> None:
        flow = make_flow("ab", "a", b=HOSTILE)
        label = to_dot(flow).splitlines()[4]
        assert re.fullmatch(r'  n1 \[label="(?:[^"\\]|\\.)*"\];', label)
        assert all(char.isprintable() for char in label)
        node = to_mermaid(flow).splitlines()[2]
        inner = node[len('  n1["') : -len('"]')].replace("<br/>", "")
        assert re.fullmatch(r"(?:[\w .,:()=+@/-]|#\d+;)*", inner)
