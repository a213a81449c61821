"""Job ids: `train-<18 digits>`, in the order of their making."""

from __future__ import annotations

import secrets
from datetime import datetime

_EPOCH_MS = 1_704_067_200_000  # 2024-01-01
_RANDOM = 1_000_000


def new_job_id(now: datetime) -> str:
    """Milliseconds since 2024, then six random digits."""
    since = int(now.timestamp() * 1000) - _EPOCH_MS
    return f"train-{since * _RANDOM + secrets.randbelow(_RANDOM):018d}"
