"""How much of a node Danlu may use: what its agent found, limited to what Ray has and other users leave. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from danlu.launch import TaskPlan

RESOURCES = {"gpu": "GPU", "npu": "NPU"}
"""Our device type -> Ray's resource. Others have our name in upper case."""


def resource_of(device_type: str) -> str:
    return RESOURCES.get(device_type, device_type.upper())


def needs(tasks: Sequence[TaskPlan], simulated: frozenset[str]) -> dict[str, float]:
    """Ray resources that the tasks need on one node. Simulated devices are unknown to Ray and not counted."""
    wanted: dict[str, float] = {}
    for task in tasks:
        amounts = {"CPU": task.cpus or 0.0, "memory": float(task.memory_bytes or 0)}
        if task.device_ids and task.device_type not in simulated:
            amounts[resource_of(task.device_type)] = float(len(task.device_ids))
        for resource, amount in amounts.items():
            if amount > 0:
                wanted[resource] = wanted.get(resource, 0.0) + amount
    return wanted


def describe(
    info: dict[str, Any],
    *,
    total: Mapping[str, float],
    free: Mapping[str, float],
    ours: Mapping[str, float],
) -> dict[str, Any]:
    """The fields of `NodeInfo`, as the scheduling policy uses them."""
    others = {name: amount - free.get(name, 0.0) - ours.get(name, 0.0) for name, amount in total.items()}
    held = {name: amount for name, amount in others.items() if amount > PRECISION}
    devices, notes = _devices(info["devices"], total, held)
    return {
        **info,
        "cpus": max(0.0, min(info["cpus"], total.get("CPU", 0.0)) - held.get("CPU", 0.0)),
        "memory_bytes": max(0, int(min(info["memory_bytes"], total.get("memory", 0.0)) - held.get("memory", 0.0))),
        "devices": devices,
        "missing": [*info["missing"], *notes, *_holdings(held)],
    }


def unusable(name: str, problem: str) -> dict[str, Any]:
    """The fields of `NodeInfo` of a node that cannot run tasks."""
    return {"name": name, "cpus": 0.0, "memory_bytes": 0, "max_tasks": 0, "missing": [f"Not used: {problem}"]}


PRECISION = 0.005
"""Ray counts in ten-thousandths, and each bundle takes a thousandth of its node's own resource."""


def _devices(
    found: Sequence[dict[str, Any]], total: Mapping[str, float], held: Mapping[str, float]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Devices that Ray has too. Ray does not tell which ones others hold, so a type that others use is left out
    entirely."""
    kept, notes = [], {}
    for device in found:
        resource = resource_of(device["type"])
        if device["is_simulated"]:
            kept.append(device)
        elif held.get(resource):
            notes[resource] = f"Others hold {held[resource]:g} {resource} here through Ray: jobs get none of that type."
        elif device["id"] < total.get(resource, 0.0):
            kept.append(device)
        else:
            notes[resource] = f"Ray was started with {total.get(resource, 0.0):g} {resource} here: others are not used."
    return kept, list(notes.values())


def _holdings(held: Mapping[str, float]) -> list[str]:
    said = [f"{amount / 2**30:.1f} GiB memory" if name == "memory" else f"{amount:g} {name}"
            for name, amount in sorted(held.items())
            if not name.startswith(("node:", "object_store"))]  # fmt: skip
    return [f"Other users of the Ray cluster hold here: {', '.join(said)}."] if said else []
