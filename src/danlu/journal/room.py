"""Size limit of a run's mappings, as enforced by the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Optional

MAX_MAPPING_BYTES = 16 << 20
"""Maximum size of all hyperparameters of a run, or of its whole summary, as JSON."""


def size_of(key: str, value: Any) -> int:
    return len(json.dumps({key: value}))


class Room:
    """Keeps track of the space for the values of one mapping."""

    def __init__(self, values: Optional[Mapping[str, Any]] = None, *, max_bytes: int = MAX_MAPPING_BYTES) -> None:
        """`values`: the existing ones."""
        self._sizes = {key: size_of(key, value) for key, value in (values or {}).items()}
        self._left = max_bytes - sum(self._sizes.values())

    def take(self, key: str, size: int) -> bool:
        """Reserve space for a value, replacing that of the key's old one. False, without any change, when it does not
        fit."""
        more = size - self._sizes.get(key, 0)
        if more > self._left:
            return False
        self._sizes[key] = size
        self._left -= more
        return True

    def free(self, key: str) -> None:
        self._left += self._sizes.pop(key, 0)
