"""What routes work with; created once by `main`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, cast

from fastapi import Depends, Request

from danlu.auth.passwords import Passwords
from danlu.auth.secrets import Sealer
from danlu.gateway.terminals import Terminals
from danlu.server.console.files import Console, packaged
from danlu.server.monitoring.instruments import Instruments
from danlu.server.nodes.known import KnownNodes
from danlu.server.settings import ServerSettings
from danlu.store.logs.index import Logs
from danlu.store.metrics.store import Metrics
from danlu.store.metrics.usage import UsageFiles
from danlu.store.objects.base import Objects
from danlu.store.objects.blobs import Blobs
from danlu.store.objects.uploads import Uploads
from danlu.store.sql.database import Database


@dataclass(frozen=True)
class ServerState:
    settings: ServerSettings
    database: Database
    objects: Objects
    blobs: Blobs
    uploads: Uploads
    logs: Logs
    usage: UsageFiles
    metrics: Metrics
    sealer: Sealer
    now: Callable[[], datetime]
    wake_scheduler: Callable[..., None]
    passwords: Passwords = field(default_factory=Passwords)
    terminals: Terminals = field(default_factory=lambda: Terminals({}))
    """Shells in running tasks that were opened through this server."""

    nodes: KnownNodes = field(default_factory=KnownNodes)
    ssh_host_key: str = ""
    """The public key by which SSH clients know this server."""

    console: Console = field(default_factory=lambda: Console(packaged()))
    """The pages, if they were built."""

    instruments: Instruments = field(default_factory=Instruments)
    """Metrics of this server."""

    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the server is about to stop. Endless streams then end; clients connect again."""


async def _state(request: Request) -> ServerState:
    # async, so that it needs no thread of the pool
    return cast("ServerState", request.app.state.danlu)


State = Annotated[ServerState, Depends(_state)]
