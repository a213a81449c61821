"""`danlu nodes [drain|open]`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from danlu.cli import CONTEXT
from danlu.cli.language import sentence
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_json, one_line, paint

if TYPE_CHECKING:
    from danlu.wire.nodes import NodeOut

app = typer.Typer(name="nodes", rich_markup_mode=None, context_settings=CONTEXT)


@app.callback(invoke_without_command=True)
def nodes(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List nodes and their devices; drain and open them.

    \b
    Examples:
      danlu nodes
      danlu nodes --json | jq '.[].devices'
      danlu nodes drain gpu-7 --reason 'kernel update'
      danlu nodes open gpu-7
    """
    if ctx.invoked_subcommand is not None:
        return
    from danlu.client import Client

    with Client() as client:
        found = list(client.nodes())
    echo_json(found) if as_json else echo_block(nodes_text(found))


@app.command(context_settings=CONTEXT)
def drain(
    name: str = typer.Argument(metavar="NODE"),
    reason: str = typer.Option(..., help="Reason, shown to users whose jobs wait."),
    evict: bool = typer.Option(False, "--evict", help="Stop preemptible jobs on the node; they are queued again."),
    as_json: AsJson = False,
) -> None:
    """Drain a node: no new tasks start there, running tasks continue. For admins.

    \b
    Examples:
      danlu nodes drain gpu-7 --reason 'kernel update'
      danlu nodes drain gpu-7 --reason 'broken fan' --evict
    """
    from danlu.client import Client

    with Client() as client:
        node = client.drain_node(name, reason, evict=evict)
    echo_json(node) if as_json else echo(f"{node.name} is drained; {still_run(node.num_tasks)}")


@app.command("open", context_settings=CONTEXT)
def open_(name: str = typer.Argument(metavar="NODE"), as_json: AsJson = False) -> None:
    """Open a drained node for new tasks. For admins.

    \b
    Examples:
      danlu nodes open gpu-7
    """
    from danlu.client import Client

    with Client() as client:
        node = client.open_node(name)
    echo_json(node) if as_json else echo(f"{node.name} is open")


def still_run(num_tasks: int) -> str:
    if num_tasks == 0:
        return "no tasks run there"
    return "1 task still runs there" if num_tasks == 1 else f"{num_tasks} tasks still run there"


def nodes_text(nodes: list[NodeOut]) -> str:
    from danlu.cli.output import table
    from danlu.spec.units import show_size

    if not nodes:
        return "no nodes"
    rows = [
        (
            node.name,
            node.engine,
            _state(node),
            f"{node.cpus_reserved:g}/{node.cpus:g}",
            f"{show_size(node.memory_reserved_bytes)}/{show_size(node.memory_bytes)}",
            _devices(node),
            str(node.num_tasks),
            ", ".join(map(sentence, node.missing)) or "all",
        )
        for node in nodes
    ]
    header = ("NODE", "ENGINE", "STATE", "CPUS", "MEMORY", "DEVICES", "TASKS", "ISOLATED")
    shown = table(header, [(*row[:-1], row[-1] if row[-1] == "all" else f"not: {row[-1]}") for row in rows])
    return "\n".join([shown, *_drained(nodes)])


def _state(node: NodeOut) -> str:

    if not node.is_reachable:
        return paint("away", 31)
    return paint("drained", 33) if node.drain is not None else paint("up", 32)


def _drained(nodes: list[NodeOut]) -> list[str]:
    """One line below the table for each drained node."""
    from danlu.cli.output import age

    return [
        one_line(
            f"{node.name} was drained {age(node.drain.at)} ago by {node.drain.by}: {node.drain.reason} "
            f"({still_run(node.num_tasks)})"
        )
        for node in nodes
        if node.drain is not None
    ]


def _devices(node: NodeOut) -> str:
    """Devices in use by type: `npu:910b 2/8`."""
    counts: dict[str, list[int]] = {}
    for device in node.devices:
        kind = f"{device.type}:{device.model}" if device.model else device.type
        kind += " (simulated)" if device.is_simulated else ""
        used = counts.setdefault(kind, [0, 0])
        used[0] += device.job is not None
        used[1] += 1
    return ", ".join(f"{kind} {used}/{total}" for kind, (used, total) in sorted(counts.items())) or "-"
