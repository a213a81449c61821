"""State of a loader of tokens or samples: its position, and everything that determines the order.

{"version": 1, "kind": "tokens", "epoch": 0, "position": 5120, "seed": 1, "shuffle": true, "epoch_sequences": 90000,
 "packing": {"sequence_length": 2049, "split_documents": false, "too_long": "refuse"},
 "sets": [{"data": "9f86d081884c7d65", "window_shards": 0, "share": 4096}]}

`position` counts sequences or samples of the epoch over all ranks: the number of ranks and the batch size may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERSION = 1
TAKEN_OVER = frozenset({"epoch", "position", "seed", "shuffle", "sets"})
"""Fields that a loader takes from the state. All others must be equal, or positions would mean something else."""


def require_state(state: Mapping[str, Any], own: Mapping[str, Any], length: str) -> None:
    """Raise ValueError unless a loader whose own state is `own` can continue from `state`.

    `length`: name of the field with the length of an epoch.
    """
    for name, expected in (("kind", own["kind"]), ("version", VERSION)):
        if state.get(name) != expected:
            raise ValueError(f"{name} of the loader state: expected {expected!r}, got {state.get(name)!r}")
    for name, kind in (("epoch", int), ("position", int), ("seed", int), ("shuffle", bool), ("sets", list)):
        if type(state.get(name)) is not kind:
            raise ValueError(f"{name} of the loader state: expected {kind.__name__}, got {state.get(name)!r}")
    for name in sorted(own.keys() - TAKEN_OVER):
        if state.get(name) != own[name]:
            raise ValueError(
                f"{name} of the loader state: expected {own[name]}, as this loader has it, got {state.get(name)!r}"
            )
    if state["epoch"] < 0 or not 0 <= state["position"] <= own[length]:
        raise ValueError(
            f"epoch and position of the loader state: expected 0 or more, and 0 to {own[length]}, got "
            f"{state['epoch']} and {state['position']}"
        )
    _require_sets(state["sets"], own["sets"])


def _require_sets(found: list[Any], own: list[dict[str, Any]]) -> None:
    if len(found) != len(own) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"sets of the loader state: expected {len(own)}, as this loader has, got {len(found)}")
    for number, (theirs, ours) in enumerate(zip(found, own)):
        for name in ("data", "share"):
            if theirs.get(name) != ours[name]:
                raise ValueError(
                    f"{name} of set {number} of the loader state: expected {ours[name]!r}, as this loader has it, got "
                    f"{theirs.get(name)!r}; a state belongs to the very data sets and weights that it was saved with"
                )
        window = theirs.get("window_shards")
        if type(window) is not int or window < 0:
            raise ValueError(f"window_shards of set {number} of the loader state: expected 0 or more, got {window!r}")
