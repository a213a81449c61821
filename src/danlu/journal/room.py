"""How much of a mapping a journal may set: no more than a server keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Optional

MAX_MAPPING_BYTES = 16 << 20
"""What all hyperparameters of a run, or all of its summary, may have together, as JSON."""


def size_of(key: str, value: Any) -> int:
    return len(json.dumps({key: value}))


class Room:
    """Room for the values of one mapping."""

    def __init__(self, values: Optional[Mapping[str, Any]] = None, *, max_bytes: int = MAX_MAPPING_BYTES) -> None:
        """`values`: what is there already."""
        self._sizes = {key: size_of(key, value) for key, value in (values or {}).items()}
        self._left = max_bytes - sum(self._sizes.values())

    def take(self, key: str, size: int) -> bool:
        """Take room for a value, in place of what the key had; False, and nothing is changed, where there is none."""
        more = size - self._sizes.get(key, 0)
        if more > self._left:
            return False
        self._sizes[key] = size
        self._left -= more
        return True

    def free(self, key: str) -> None:
        self._left += self._sizes.pop(key, 0)
