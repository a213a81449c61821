"""Placement groups: reserve in Ray what Danlu's policy chose, so that no other user of the cluster gets it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.util.placement_group import PlacementGroup, placement_group, placement_group_table, remove_placement_group

from danlu.engines.ray.messages import Bundle
from danlu.errors import EngineUnavailable

PIN = 0.001
"""Amount of the node's own resource in each bundle, which ties the bundle to that node."""

log = logging.getLogger("danlu.ray")


class Reservations:
    def __init__(self, prefix: str, resource_of: Callable[[str], str]) -> None:
        """`resource_of`: node -> custom resource that exists on this node only."""
        self._prefix = prefix
        self._resource_of = resource_of

    def take(self, name: str, bundles: Sequence[Bundle], *, seconds: float) -> None:
        """Reserve all bundles, or raise EngineUnavailable. When called again, wait for the earlier request."""
        group = self._find(name)
        if group is None:
            wanted = [{**bundle.resources, self._resource_of(bundle.node): PIN} for bundle in bundles]
            group = placement_group(wanted, strategy="PACK", name=self._prefix + name, lifetime="detached")
        if not group.wait(seconds):
            nodes = ", ".join(sorted({bundle.node for bundle in bundles}))
            raise EngineUnavailable(f"waiting for Ray to reserve what {name} needs on {nodes}: it is in use")

    def release(self, name: str) -> None:
        """Remove a reservation. Idempotent."""
        group = self._find(name)
        if group is not None:
            remove_placement_group(group)

    def names(self) -> list[str]:
        """The reservations of this server."""
        return [name for name in self._table() if name]

    def held(self) -> dict[str, dict[str, float]]:
        """Ray's node id -> resource -> amount held by this server's reservations."""
        found: dict[str, dict[str, float]] = {}
        for row in self._table().values():
            for number, bundle in row["bundles"].items():
                node = row.get("bundles_to_node_id", {}).get(number)
                if node and row["state"] == "CREATED":
                    here = found.setdefault(node, {})
                    for resource, amount in bundle.items():
                        here[resource] = here.get(resource, 0.0) + amount
        return found

    def _table(self) -> dict[str, dict[str, Any]]:
        """Placement groups that are not removed, by name without the prefix."""
        return {
            row["name"].removeprefix(self._prefix): row
            for row in placement_group_table().values()
            if row["name"].startswith(self._prefix) and row["state"] != "REMOVED"
        }

    def _find(self, name: str) -> PlacementGroup | None:
        row = self._table().get(name)
        return None if row is None else PlacementGroup(ray.PlacementGroupID(bytes.fromhex(row["placement_group_id"])))
