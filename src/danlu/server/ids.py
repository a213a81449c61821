"""Job ids: `train-<18 digits>`, in order of creation."""

from __future__ import annotations

import secrets
import threading
from datetime import datetime

_EPOCH_MS = 1_704_067_200_000  # 2024-01-01
_PER_MS = 1_000_000
ID_CHARS = len("train-") + 18
_FIRST = 900_000
"""The first id of a millisecond is random and below this; the rest is room for those that follow it."""


class JobIds:
    """Creates unique ids. Servers that share a database rely on chance to avoid the same one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def new(self, now: datetime) -> str:
        """Milliseconds since 2024, then six digits that count up from a random start."""
        since = int(now.timestamp() * 1000) - _EPOCH_MS
        with self._lock:
            is_same = self._last // _PER_MS == since
            self._last = self._last + 1 if is_same else since * _PER_MS + secrets.randbelow(_FIRST)
            return f"train-{self._last:018d}"


new_job_id = JobIds().new
