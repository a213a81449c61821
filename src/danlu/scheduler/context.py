"""Dependencies of the scheduler: stores, engines, clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timezone

from danlu.auth.secrets import Sealer
from danlu.engines.base import Engine
from danlu.store.logs.index import Logs
from danlu.store.metrics.usage import UsageFiles
from danlu.store.sql.database import Database


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True)
class Context:
    database: Database
    logs: Logs
    usage: UsageFiles
    engines: Mapping[str, Engine]
    sealer: Sealer
    server_url: str
    """URL at which tasks reach the server."""

    server_id: str
    """Identifies this server in its claims; the same after a restart."""

    log_days: int = 0
    """Days to keep the logs of ended attempts; 0: forever."""

    now: Callable[[], datetime] = utc_now
    look: Callable[[str], AbstractContextManager[object]] = nullcontext
    """Context manager around each part of a tick, for metrics."""
