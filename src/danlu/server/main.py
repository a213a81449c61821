"""`danlu up`: bring everything up and serve until told to stop."""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import IO

import uvicorn

from danlu.auth.secrets import Sealer
from danlu.engines.base import EngineSetup
from danlu.engines.registry import load_engine
from danlu.errors import Conflict, InvalidInput, Unavailable
from danlu.scheduler.loop import Scheduler
from danlu.scheduler.parts import Parts, utc_now
from danlu.server.app import MAX_HEAD_BYTES, create_app
from danlu.server.people.service import ADMIN, first_start, make_link, wants_link
from danlu.server.settings import ServerSettings
from danlu.server.state import ServerState
from danlu.spec.devices import DeviceRequest
from danlu.spec.units import parse_device
from danlu.store import migrate
from danlu.store.blobs import Blobs
from danlu.store.database import Database, sqlite_url
from danlu.store.log_files import LogFiles
from danlu.store.logs import Logs
from danlu.store.metrics.journal_files import JournalFiles
from danlu.store.metrics.store import Metrics
from danlu.store.objects import LocalObjects
from danlu.store.uploads import Uploads

log = logging.getLogger(__name__)


def _print_now(text: str) -> None:
    print(text, flush=True)


def serve(settings: ServerSettings, say: Callable[[str], None] = _print_now, *, new_link: bool = False) -> None:
    """Serve until SIGINT or SIGTERM. Running jobs go on and are found again at the next start.

    A sign-in link for the admin is printed when asked for, and whenever nobody could sign in otherwise.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    for folder in (settings.home, settings.server_dir, settings.work_dir, settings.objects_dir):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    with _only_one(settings.server_dir / "lock"), _listen(settings) as listener:
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        database = Database(settings.database_url or sqlite_url(settings.server_dir / "danlu.db"))
        migrate.upgrade(database)
        database.write(first_start, utc_now())
        wants_one = new_link or database.read(wants_link)
        state, scheduler = _wire(settings, database)
        app = create_app(state, scheduler, ready=lambda: _greet(settings, database, wants_one, say))
        server = _Server(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=2,
                lifespan="on",
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            ),
            stopping=state.stopping,
        )
        server.run(sockets=[listener])
        database.close()
        say("Danlu is down. Running jobs go on; `danlu up` finds them again.")


class _Server(uvicorn.Server):
    """Says that it is about to end, so that streams end by themselves and need not be cut off."""

    def __init__(self, config: uvicorn.Config, *, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping.set()
        super().handle_exit(sig, frame)


def _greet(settings: ServerSettings, database: Database, wants_one: bool, say: Callable[[str], None]) -> None:
    lines = [f"Danlu is up on {settings.url} (data in {settings.home})"]
    if wants_one:
        link = database.write(make_link, ADMIN, utc_now())
        lines.append(f"Sign in, once, within a day: {settings.url}/signin?token={link}")
    say("\n".join(lines))


def _wire(settings: ServerSettings, database: Database) -> tuple[ServerState, Scheduler]:
    sealer = Sealer(settings.server_dir / "secret.key")
    logs = Logs(database, LogFiles(settings.server_dir / "logs"), settings.max_log_bytes)
    server_id = _server_id(settings.server_dir / "id")
    engine = load_engine(settings.engine).create(
        EngineSetup(
            work_dir=settings.work_dir,
            hide=(settings.home,),
            server_id=server_id,
            use_sandbox=settings.sandbox,
            use_own_network=settings.own_network,
            simulate=tuple(_simulated(text) for text in settings.simulate),
            max_tasks=settings.max_tasks,
        )
    )
    parts = Parts(
        database=database,
        logs=logs,
        engines={engine.name: engine},
        sealer=sealer,
        server_url=settings.url,
        server_id=server_id,
        log_days=settings.log_days,
    )
    scheduler = Scheduler(parts)
    state = ServerState(
        settings=settings,
        database=database,
        objects=LocalObjects(settings.objects_dir),
        blobs=Blobs(LocalObjects(settings.server_dir)),
        uploads=Uploads(settings.server_dir / "uploads"),
        logs=logs,
        metrics=Metrics(
            database,
            JournalFiles(settings.server_dir / "runs"),
            LocalObjects(settings.server_dir),
            pack_bytes=settings.pack_bytes,
        ),
        sealer=sealer,
        now=utc_now,
        wake_scheduler=scheduler.wake,
    )
    return state, scheduler


def _simulated(text: str) -> DeviceRequest:
    try:
        return parse_device(text)
    except ValueError as error:
        raise InvalidInput(f"--simulate: {error}") from error


def _only_one(path: Path) -> IO[str]:
    """Hold the data folder for this server; two on one folder would hurt each other."""
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Conflict(
            f"another Danlu server uses {path.parent.parent}; stop it, or choose another --data-dir"
        ) from error
    return file


def _listen(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for sockets that say they are TCP
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        told = f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; choose another --host or --port"
        raise Unavailable(told) from error
    return listener


def _server_id(path: Path) -> str:
    """The name under which this server claims work; the same after a restart, so that nothing has to run out first."""
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.write_text(uuid.uuid4().hex)
        os.replace(fresh, path)
    return path.read_text().strip()
