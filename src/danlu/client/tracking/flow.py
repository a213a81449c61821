"""`client.flow(...)`: the lineage of something, upstream and downstream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional, Union

from danlu.client.http import Http, Query
from danlu.spec.flow import Direction, NodeKind, Relation
from danlu.wire.flow import FlowEdge, FlowNode, FlowOut

MAX_NODES = 10_000
PAGE = 500


@dataclass(frozen=True)
class Flow:
    """A part of the lineage graph, as of the time of the request."""

    node: str
    """The requested node: `kind:key`."""

    nodes: dict[str, FlowNode] = field(default_factory=dict)
    """By id, nearest first."""

    edges: list[FlowEdge] = field(default_factory=list)
    is_whole: bool = True
    """False when the graph has more nodes than were requested."""

    @property
    def root(self) -> FlowNode:
        return self.nodes[self.node]

    def sources(self, node: str) -> list[FlowNode]:
        """Direct upstream nodes."""
        return [self.nodes[edge.source] for edge in self.edges if edge.target == node]

    def targets(self, node: str) -> list[FlowNode]:
        """Direct downstream nodes."""
        return [self.nodes[edge.target] for edge in self.edges if edge.source == node]

    def of_kind(self, kind: Union[NodeKind, str]) -> list[FlowNode]:
        return [node for node in self.nodes.values() if node.kind == kind]

    def relation(self, source: str, target: str) -> Optional[Relation]:
        found = (edge.relation for edge in self.edges if (edge.source, edge.target) == (source, target))
        return next(found, None)


def read_flow(http: Http, node: str, *, direction: Union[Direction, str], depth: int, max_nodes: int) -> Flow:
    """Fetch all pages, up to `max_nodes` nodes."""
    nodes: dict[str, FlowNode] = {}
    edges: dict[tuple[str, str, str], FlowEdge] = {}
    root, is_whole = node, True
    for page in _pages(http, node, str(direction), depth, max_nodes):
        root, is_whole = page.node, page.next is None
        nodes.update({found.id: found for found in page.nodes})
        edges.update({(edge.source, edge.target, str(edge.relation)): edge for edge in page.edges})
    # if the graph grows meanwhile, an edge may refer to a node on no page
    known = [edge for edge in edges.values() if edge.source in nodes and edge.target in nodes]
    return Flow(root, nodes, known, is_whole)


def _pages(http: Http, node: str, direction: str, depth: int, max_nodes: int) -> Iterator[FlowOut]:
    cursor: Optional[str] = None
    num_left = max_nodes
    while num_left > 0:
        query: Query = {
            "node": node,
            "direction": direction,
            "depth": depth,
            "cursor": cursor,
            "limit": min(num_left, PAGE),
        }
        page = http.get("/flow", FlowOut, query=query)
        yield page
        if page.next is None:
            return
        cursor, num_left = page.next, num_left - len(page.nodes)
