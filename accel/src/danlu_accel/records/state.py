"""State of a loader: its position, and everything that determines the order of its records.

{"version": 2, "epoch": 3, "position": 5120, "seed": 1, "shuffle": true, "window_shards": 0, "data": "9f86d081884c7d65"}

`position` counts records of the epoch over all ranks, so the number of ranks and the batch size may change. `data`
identifies the data set: in another one the same number is another record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from danlu_accel.records.index import Index

VERSION = 2


@dataclass(frozen=True)
class LoaderState:
    epoch: int
    position: int
    seed: int
    shuffle: bool
    window_shards: int
    data: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that can be stored as JSON."""
        return {"version": VERSION, **asdict(self)}


def read_state(state: Mapping[str, Any], index: Index, data: str) -> LoaderState:
    """Validate a saved state; raise ValueError if it belongs to another data set."""
    version = state.get("version")
    if version == 1:
        raise ValueError(
            "version: expected a loader state of version 2, got 1, which does not name the order; "
            f"begin its epoch again with set_epoch({state.get('epoch')})"
        )
    if version != VERSION:
        raise ValueError(f"version: expected a loader state of version {VERSION}, got {version!r}")
    kinds = {"shuffle": bool, "data": str}
    for field in fields(LoaderState):
        kind = kinds.get(field.name, int)
        value = state.get(field.name)
        if type(value) is not kind:
            raise ValueError(f"{field.name} of the loader state: expected {kind.__name__}, got {value!r}")
    found = LoaderState(**{field.name: state[field.name] for field in fields(LoaderState)})
    if found.data != data:
        raise ValueError(
            f"data of the loader state: expected {data}, which is this data set, got {found.data}; "
            "a state belongs to the very data set, packed once, that it was saved with"
        )
    if not 0 <= found.position <= len(index.entries):
        raise ValueError(f"position of the loader state: expected 0 to {len(index.entries)}, got {found.position}")
    if found.epoch < 0 or found.window_shards < 0:
        raise ValueError(f"epoch and window_shards of the loader state: expected 0 or more, got {found}")
    return found


def name_of_data(index: Index) -> str:
    """Return a digest of the records and their order; the same for a local data set and its copy behind a URL."""
    return hashlib.sha256(np.ascontiguousarray(index.entries).tobytes()).hexdigest()[:16]
