"""`danlu flow`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.options import AsJson

if TYPE_CHECKING:
    from rich.text import Text

    from danlu.client.tracking.flow import Flow
    from danlu.wire.flow import FlowNode


def flow(
    node: str = typer.Argument(
        ...,
        metavar="ID",
        help="Id of a job, run, artifact version or model version; store://BUCKET/PATH; or kind:name as in job:mnist.",
    ),
    up: bool = typer.Option(False, "--up", help="Only what it comes from."),
    down: bool = typer.Option(False, "--down", help="Only what became of it."),
    depth: int = typer.Option(5, "--depth", min=1, max=100, help="How many steps away."),
    limit: int = typer.Option(200, "--limit", min=1, max=10_000, help="How many nodes at most, the nearest first."),
    svg: Optional[Path] = typer.Option(None, "--svg", metavar="FILE", help="Draw it into this file."),
    as_json: AsJson = False,
) -> None:
    """Draw what something comes from, and what became of it.

    Data goes from top to bottom. What was deleted is still there, and says so.

    \b
    Examples:
      danlu flow train-074123456789012345
      danlu flow model:mnist:champion --up             back to its data and code
      danlu flow store://main/data/images/ --down      what was made of it
      danlu flow job:mnist --depth 10 --svg mnist.svg
      danlu flow run:lucky --json | jq '.edges'
    """
    from danlu.cli.output import note, print_json
    from danlu.client import Client
    from danlu.spec.flow import Direction

    direction = Direction.BOTH if up == down else Direction.UP if up else Direction.DOWN
    with Client() as client:
        found = client.flow(node, direction=direction, depth=depth, max_nodes=limit)
    if svg is not None:
        from danlu.cli.tracking.flow_svg import flow_svg

        svg.write_text(flow_svg(found), encoding="utf-8")
        note(f"drawn into {svg}: {_count(len(found.nodes), 'node')}, {_count(len(found.edges), 'edge')}")
    if as_json:
        print_json(
            {
                "node": found.node,
                "direction": str(direction),
                "depth": depth,
                "is_whole": found.is_whole,
                "nodes": [one.model_dump(mode="json") for one in found.nodes.values()],
                "edges": [one.model_dump(mode="json") for one in found.edges],
            }
        )
    elif svg is None:
        _print(found)
    if not found.is_whole:
        note(f"there is more; these are the nearest {limit} (--limit)")


def _print(found: Flow) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for line in flow_text(found):
        if console.is_terminal:
            console.print(line, no_wrap=True, overflow="ellipsis", crop=True, soft_wrap=False)
        else:
            console.print(line)


def flow_text(found: Flow) -> list[Text]:
    """The graph, line by line."""
    from rich.text import Text

    from danlu.cli.tracking.flow_lanes import rows

    targets: dict[str, list[str]] = {node: [] for node in found.nodes}
    for edge in found.edges:
        targets[edge.source].append(edge.target)
    drawn = list(rows(list(found.nodes), targets, {name: _mark(node) for name, node in found.nodes.items()}))
    width = max(len(row.lanes) for row in drawn)
    lines = []
    for row in drawn:
        if row.node is None:
            lines.append(Text(row.lanes, style="dim"))
            continue
        node = found.nodes[row.node]
        again = "".join(f"  ↺ {found.nodes[name].label or name}" for name in row.again)
        line = _lanes(row.lanes, node).append(" " * (width - len(row.lanes) + 2))
        lines.append(line.append_text(_said(node, is_here=row.node == found.node, words=_words(found, row.node))))
        lines[-1].append(again, style="dim")
    return lines


def _lanes(lanes: str, node: FlowNode) -> Text:
    from rich.text import Text

    text = Text(lanes, style="dim")
    place = lanes.index(_mark(node))
    text.stylize(f"not dim {_colour(node)}", place, place + 1)
    return text


def _said(node: FlowNode, *, is_here: bool, words: str) -> Text:
    """What is said of a node: kind, name, id, state."""
    from rich.text import Text

    text = Text(f"{node.kind!s:<9}", style=_colour(node))
    if node.is_hidden:
        return text.append("something that is not yours to see", style="dim italic")
    style = "bold reverse" if is_here else "bold"
    text.append(node.label or str(node.key), style=style + (" strike" if node.deleted_at is not None else ""))
    if node.key and node.kind.value in ("job", "run", "artifact", "model"):
        text.append(f"  {node.key}", style="dim")
    if node.deleted_at is not None:
        text.append("  deleted", style="red")
    elif node.state is not None:
        text.append(f"  {node.state}", style=_STATES.get(node.state, "yellow"))
    return text.append(f"  {words}" if words else "", style="dim")


def _words(found: Flow, name: str) -> str:
    """What a path is to those who read it; of other things it goes without saying."""
    if found.nodes[name].kind.value not in ("store", "code"):
        return ""
    said = dict.fromkeys(str(edge.relation) for edge in found.edges if edge.source == name)
    return ", ".join(word for word in said if word in ("data", "code"))


def _mark(node: FlowNode) -> str:
    if node.is_hidden:
        return "?"
    return _MARKS[node.kind.value] if node.deleted_at is None else "✗"


def _colour(node: FlowNode) -> str:
    return "dim" if node.is_hidden else _COLOURS[node.kind.value]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


_MARKS = {"store": "□", "code": "▷", "job": "■", "run": "●", "artifact": "◆", "model": "★"}
_COLOURS = {"store": "cyan", "code": "white", "job": "blue", "run": "magenta", "artifact": "yellow", "model": "red"}
_STATES = {"succeeded": "green", "finished": "green", "failed": "red", "died": "red", "running": "cyan"}
