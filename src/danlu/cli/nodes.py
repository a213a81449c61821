"""`danlu nodes`"""

from __future__ import annotations

from typing import TYPE_CHECKING

from danlu.cli.options import AsJson

if TYPE_CHECKING:
    from danlu.wire.nodes import NodeOut


def nodes(as_json: AsJson = False) -> None:
    """List nodes and their devices.

    \b
    Examples:
      danlu nodes
      danlu nodes --json | jq '.[].devices'
    """
    from danlu.cli.output import print_json
    from danlu.client import Client

    with Client() as client:
        found = list(client.nodes())
    print_json(found) if as_json else print(nodes_text(found))


def nodes_text(nodes: list[NodeOut]) -> str:
    from danlu.cli.output import paint, table
    from danlu.spec.units import show_size

    if not nodes:
        return "no nodes"
    rows = [
        (
            node.name,
            node.engine,
            paint("up", 32) if node.is_reachable else paint("away", 31),
            f"{node.cpus_reserved:g}/{node.cpus:g}",
            f"{show_size(node.memory_reserved_bytes)}/{show_size(node.memory_bytes)}",
            _devices(node),
            str(node.num_tasks),
            ", ".join(node.missing) or "all",
        )
        for node in nodes
    ]
    header = ("NODE", "ENGINE", "STATE", "CPUS", "MEMORY", "DEVICES", "TASKS", "ISOLATED")
    return table(header, [(*row[:-1], row[-1] if row[-1] == "all" else f"not: {row[-1]}") for row in rows])


def _devices(node: NodeOut) -> str:
    """How many of each type are in use: `npu:910b 2/8`."""
    counts: dict[str, list[int]] = {}
    for device in node.devices:
        kind = f"{device.type}:{device.model}" if device.model else device.type
        kind += " (simulated)" if device.is_simulated else ""
        used = counts.setdefault(kind, [0, 0])
        used[0] += device.job is not None
        used[1] += 1
    return ", ".join(f"{kind} {used}/{total}" for kind, (used, total) in sorted(counts.items())) or "-"
