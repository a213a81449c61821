"""A part of the data flow as an SVG picture: cards from left to right, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from danlu.cli.tracking.flow_layout import NODE_HEIGHT, Edge, Layout, lay_out
from danlu.spec.flow import NodeKind

if TYPE_CHECKING:
    from danlu.client.tracking.flow import Flow
    from danlu.wire.flow import FlowNode

CARD_WIDTH, LAYER_GAP, MARGIN = 226.0, 82.0, 24.0
LABEL_CHARS, ID_CHARS = 23, 30
COLOURS = {
    NodeKind.STORE: "#2f8f83",
    NodeKind.CODE: "#6b7280",
    NodeKind.JOB: "#3b6fd4",
    NodeKind.RUN: "#8a5bd0",
    NodeKind.ARTIFACT: "#c2701c",
    NodeKind.MODEL: "#c23a5e",
}
NAMES = {
    NodeKind.STORE: "store path",
    NodeKind.CODE: "code",
    NodeKind.JOB: "job",
    NodeKind.RUN: "run",
    NodeKind.ARTIFACT: "artifact",
    NodeKind.MODEL: "model",
}
STYLE = """
  .ground { fill: #ffffff } .card { fill: #ffffff; stroke: #d5dae3; stroke-width: 1 }
  .here { stroke-width: 2.5 } .label { fill: #16202e; font-weight: 600; font-size: 13px }
  .kind { font-size: 10.5px; font-weight: 600; letter-spacing: .06em; text-transform: uppercase }
  .key { fill: #6a7485; font-size: 10.5px; font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, monospace }
  .edge { fill: none; stroke: #9aa5b5; stroke-width: 1.5 } .tip { fill: #9aa5b5 }
  .why { fill: #6a7485; font-size: 10.5px } .halo { fill: #ffffff; opacity: .88 }
  .gone { stroke-dasharray: 4 3; opacity: .72 } .struck { text-decoration: line-through; opacity: .72 }
  text { font-family: system-ui, 'Noto Sans', 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #12161d } .card { fill: #1b212b; stroke: #343d4b } .label { fill: #e8ecf3 }
    .key, .why { fill: #97a2b3 } .edge { stroke: #5c6879 } .tip { fill: #5c6879 } .halo { fill: #12161d }
  }
"""


def flow_svg(flow: Flow) -> str:
    """The whole picture, as text."""
    edges = {Edge(edge.source, edge.target): str(edge.relation) for edge in flow.edges}
    layout = lay_out(list(flow.nodes), edges)
    width = 2 * MARGIN + layout.num_layers * CARD_WIDTH + max(layout.num_layers - 1, 0) * LAYER_GAP
    height = 2 * MARGIN + layout.height
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>{escape(f'The data flow of {flow.root.label or flow.node}')}</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0,0.6 L7.4,4 L0,7.4 Z"/></marker></defs>',
        f'<rect class="ground" width="{width:.0f}" height="{height:.0f}"/>',
    ]
    lines += [_edge(edge, layout) for edge in edges if edge in layout.ways]
    lines += [_why(edge, why, layout) for edge, why in edges.items() if edge in layout.ways]
    for node in flow.nodes.values():
        lines += _card(node, layout, is_here=node.id == flow.node)
    return "\n".join([*lines, "</svg>", ""])


def _left(layer: int) -> float:
    return MARGIN + layer * (CARD_WIDTH + LAYER_GAP)


def _edge(edge: Edge, layout: Layout) -> str:
    points = _points(edge, layout)
    path = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in zip(points, points[1:]):
        bend = (to_x - x) / 2
        path.append(f"C{x + bend:.1f},{y:.1f} {to_x - bend:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}")
    return f'<path class="edge" marker-end="url(#tip)" d="{" ".join(path)}"/>'


def _points(edge: Edge, layout: Layout) -> list[tuple[float, float]]:
    """Where an edge begins, passes other layers, and ends."""
    begin, end = layout.layers[edge.source], layout.layers[edge.target]
    is_back = end <= begin
    points = [(_left(begin) + (0.0 if is_back else CARD_WIDTH), MARGIN + layout.heights[edge.source])]
    for layer, height in layout.ways[edge]:
        sides = (_left(layer), _left(layer) + CARD_WIDTH)
        points += [(x, MARGIN + height) for x in (reversed(sides) if is_back else sides)]
    points.append((_left(end) + (CARD_WIDTH if is_back else 0.0), MARGIN + layout.heights[edge.target]))
    return points


def _why(edge: Edge, why: str, layout: Layout) -> str:
    """The word on an edge, in the gap where it leaves its source."""
    (x, y), (to_x, to_y) = _points(edge, layout)[:2]
    middle_x, middle_y = (x + to_x) / 2, (y + to_y) / 2
    half = 3.0 * len(why) + 3
    return (
        f'<rect class="halo" x="{middle_x - half:.1f}" y="{middle_y - 7:.1f}" width="{2 * half:.1f}" height="14"/>'
        f'<text class="why" x="{middle_x:.1f}" y="{middle_y + 3.6:.1f}" text-anchor="middle">{escape(why)}</text>'
    )


def _card(node: FlowNode, layout: Layout, *, is_here: bool) -> Iterator[str]:
    x, y = _left(layout.layers[node.id]), MARGIN + layout.heights[node.id] - NODE_HEIGHT / 2
    colour = "#9aa5b5" if node.is_hidden else COLOURS[node.kind]
    is_gone = node.deleted_at is not None
    title = f"{NAMES[node.kind]} {node.key or '(not yours to see)'}{' (deleted)' if is_gone else ''}"
    frame = f' style="stroke: {colour}"' if is_here else ""
    classes = f"card{' here' if is_here else ''}{' gone' if is_gone or node.is_hidden else ''}"
    said = " · ".join(word for word in (NAMES[node.kind], "deleted" if is_gone else node.state) if word)
    yield f"<g><title>{escape(title)}</title>"
    size = f'width="{CARD_WIDTH:.0f}" height="{NODE_HEIGHT:.0f}"'
    yield f'<rect class="{classes}"{frame} x="{x:.1f}" y="{y:.1f}" {size} rx="9"/>'
    yield f'<rect x="{x + 9:.1f}" y="{y + 10:.1f}" width="4" height="{NODE_HEIGHT - 20:.0f}" rx="2" fill="{colour}"/>'
    yield f'<text class="kind" x="{x + 22:.1f}" y="{y + 17:.1f}" fill="{colour}">{escape(said)}</text>'
    label, key = card_texts(node)
    struck = " struck" if is_gone else ""
    yield f'<text class="label{struck}" x="{x + 22:.1f}" y="{y + 34:.1f}">{escape(label)}</text>'
    yield f'<text class="key" x="{x + 22:.1f}" y="{y + 49:.1f}">{escape(key)}</text></g>'


def card_texts(node: FlowNode) -> tuple[str, str]:
    """The two lines of a card."""
    if node.is_hidden:
        return "not yours to see", ""
    if node.kind is NodeKind.STORE:
        folder, _, name = (node.key or "").rstrip("/").rpartition("/")
        end = "/" if (node.key or "").endswith("/") else ""
        return shortened(f"{name}{end}", LABEL_CHARS), shortened(f"{folder}/" if folder else "", ID_CHARS)
    if node.kind is NodeKind.CODE:
        return node.label, shortened((node.key or "").rpartition("/")[2], ID_CHARS)
    return shortened(node.label, LABEL_CHARS), shortened(node.key or "", ID_CHARS)


def shortened(text: str, most: int) -> str:
    """Without its middle where it is too wide: beginnings and ends tell things apart."""
    if _width(text) <= most:
        return text
    head, tail = text, text
    while _width(head) > (most - 1) // 2:
        head = head[:-1]
    while _width(tail) > most - 1 - _width(head):
        tail = tail[1:]
    return f"{head}…{tail}"


def _width(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
