"""`danlu flow`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo_block, echo_err, echo_json
from danlu.spec.states import Word

if TYPE_CHECKING:
    from danlu.client.tracking.flow import Flow
    from danlu.spec.flow import Direction


class FlowFormat(Word):
    TREE = "tree"
    DOT = "dot"
    MERMAID = "mermaid"
    JSON = "json"


def flow(
    node: str = typer.Argument(
        ...,
        metavar="ID",
        help="Id of a job, run, artifact version or model version; store://BUCKET/PATH; or kind:name as in job:mnist.",
    ),
    up: bool = typer.Option(False, "--up", help="Upstream only: what it was made from."),
    down: bool = typer.Option(False, "--down", help="Downstream only: what was made from it."),
    depth: int = typer.Option(5, "--depth", min=1, max=100, help="Maximum number of steps."),
    limit: int = typer.Option(200, "--limit", min=1, max=10_000, help="Maximum number of nodes, nearest first."),
    format_: FlowFormat = typer.Option(
        FlowFormat.TREE, "--format", "-o", help="tree, dot (Graphviz), mermaid (Markdown) or json."
    ),
    as_json: AsJson = False,
) -> None:
    """Show the lineage of something: what it was made from, and what was made from it.

    Deleted things stay in the graph, marked as deleted.

    \b
    Examples:
      danlu flow train-074123456789012345
      danlu flow model:mnist:champion --up             # back to its data and code
      danlu flow store://main/data/images/ --down      # what was made from it
      danlu flow job:mnist --depth 10 --format dot | dot -Tsvg > mnist.svg
      danlu flow job:mnist --format mermaid            # paste it into a Markdown page
      danlu flow run:lucky --json | jq '.edges'
    """
    from danlu.cli.tracking.flow_formats import to_dot, to_mermaid, to_tree
    from danlu.client import Client
    from danlu.spec.flow import Direction

    direction = Direction.BOTH if up == down else Direction.UP if up else Direction.DOWN
    with Client() as client:
        found = client.flow(node, direction=direction, depth=depth, max_nodes=limit)
    if as_json or format_ is FlowFormat.JSON:
        echo_json(_as_data(found, direction, depth))
    elif format_ is FlowFormat.TREE:
        echo_block("\n".join(to_tree(found, direction)))
    else:
        echo_block(to_dot(found) if format_ is FlowFormat.DOT else to_mermaid(found))
    if not found.is_whole:
        echo_err(f"there are more nodes; these are the {limit} nearest (--limit)")


def _as_data(found: Flow, direction: Direction, depth: int) -> dict[str, object]:
    return {
        "node": found.node,
        "direction": str(direction),
        "depth": depth,
        "is_whole": found.is_whole,
        "nodes": [one.model_dump(mode="json") for one in found.nodes.values()],
        "edges": [one.model_dump(mode="json") for one in found.edges],
    }
