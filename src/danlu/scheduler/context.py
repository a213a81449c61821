"""What the scheduler works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
class Parts:
    database: Database
    logs: Logs
    use: UsageFiles
    engines: Mapping[str, Engine]
    sealer: Sealer
    server_url: str
    """Where tasks reach the server."""

    server_id: str
    """Claims work under this name; the same after a restart."""

    log_days: int = 0
    """Days that the logs of ended attempts are kept; 0: for ever."""

    now: Callable[[], datetime] = utc_now
