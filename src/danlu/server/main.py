"""`danlu up`: start everything and serve until stopped."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import logging
import os
import resource
import socket
import sys
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO
from urllib.parse import urlsplit

import uvicorn

from danlu.auth.secrets import Sealer
from danlu.engines.base import Engine, EngineSettings
from danlu.engines.registry import load_engine
from danlu.errors import Conflict, InvalidInput, Unavailable
from danlu.gateway.ssh.host_key import HOST_KEY, public_host_key
from danlu.gateway.tasks import Engines
from danlu.gateway.terminals import Terminals
from danlu.scheduler.context import Context, utc_now
from danlu.scheduler.loop import Scheduler
from danlu.server.app import MAX_HEAD_BYTES, create_app
from danlu.server.cleaner import clean_now_and_then
from danlu.server.console.files import Console
from danlu.server.gateway_ports import listen
from danlu.server.monitoring.instruments import Instruments
from danlu.server.monitoring.traces import make_traces
from danlu.server.people.service import first_admin_link, first_start, wants_link
from danlu.server.protocol import http_protocol
from danlu.server.settings import ServerSettings
from danlu.server.shared_folders import name_by_id
from danlu.server.state import ServerState
from danlu.server.stores import (
    cleaning_places,
    make_blobs,
    make_logs,
    make_metrics,
    make_objects,
    make_uploads,
    open_database,
    where_objects_are,
)
from danlu.server.terminals.operations import guard
from danlu.store.metrics.usage import UsageFiles
from danlu.store.queries import facts, people
from danlu.store.sql import migrate
from danlu.store.sql.database import Database

log = logging.getLogger(__name__)

SWITCH_SECONDS = 0.001
"""How long a busy thread keeps others waiting: Python's 5 ms add up for a request with ten database queries (decision
0115)."""

MAX_FILES = 65536

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt in glibc's malloc.h."""

KEPT_BLOCK_BYTES, KEPT_BYTES = 32 << 20, 128 << 20
"""The largest block that is kept, which is glibc's maximum, and the most in total."""


def _print_now(text: str) -> None:
    print(text, flush=True)


def serve(settings: ServerSettings, say: Callable[[str], None] = _print_now, *, new_link: bool = False) -> None:
    """Serve until SIGINT or SIGTERM. Running jobs continue and are found again at the next start.

    A sign-in link for the admin is printed on request, and whenever nobody could sign in otherwise.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    sys.setswitchinterval(SWITCH_SECONDS)
    _allow_many_connections()
    _keep_freed_memory()
    for folder in (settings.home, settings.server_dir, settings.work_dir, settings.objects_dir):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    database = open_database(settings)
    with only_one(settings, is_shared=not database.is_sqlite), _listen(settings) as listener:
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        doors = listen(settings)
        settings = doors.settings
        migrate.upgrade(database)
        database.write(facts.agree, shared_facts(settings))
        database.write(first_start, utc_now())
        wants_one = new_link or database.read(wants_link)
        state, scheduler, engines = _wire(settings, database)
        greet = partial(_greet, settings, database, state.console, wants_one=wants_one, say=say)
        app = create_app(state, scheduler, ready=greet)
        server = _Server(
            uvicorn.Config(
                app,
                http=http_protocol(settings),
                loop="asyncio",  # also where uvloop is installed: this is the one that is tested
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=2,
                lifespan="on",
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
                # client addresses from trusted proxies also count for throttling and the audit log
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=settings.trusted_proxies,
            ),
            stopping=state.stopping,
        )
        clean_now_and_then(cleaning_places(settings, database), state.stopping)
        gateway = doors.gateway(state, engines)
        gateway.start()
        server.run(sockets=[listener])
        gateway.stop()
        state.instruments.traces.stop()
        database.close()
        say("Danlu has stopped. Running jobs continue; `danlu up` finds them again.")


def _allow_many_connections() -> None:
    """Raise the limit on open files as far as the system allows: every connection and every followed task uses one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _keep_freed_memory() -> None:
    """Keep freed memory for the next body, where the C library can do so (glibc; not musl, macOS).

    glibc returns large blocks to the kernel, which clears each page before it is used again: two thirds of the time of
    receiving 8 MiB in pieces of 256 KiB.
    """
    with suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)


class _Server(uvicorn.Server):
    """Announces shutdown early, so that streams end by themselves before they are cut off."""

    def __init__(self, config: uvicorn.Config, *, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping.set()
        super().handle_exit(sig, frame)


def _greet(
    settings: ServerSettings, database: Database, console: Console, *, wants_one: bool, say: Callable[[str], None]
) -> None:
    lines = [f"Danlu is up on {settings.url} (data in {settings.home})"]
    if not console.is_built:
        lines.append("The console is not built: `make web` in the checkout builds it.")
    if wants_one:
        link = database.write(first_admin_link, utc_now())
        lines.append(f"Sign in, once, within a day: {settings.reached_at}/signin?token={link}")
    say("\n".join(lines))


def _wire(settings: ServerSettings, database: Database) -> tuple[ServerState, Scheduler, Engines]:
    sealer = Sealer(settings.server_dir / "secret.key")
    logs = make_logs(settings, database)
    usage = UsageFiles(settings.log_dir)
    folder_id = _folder_id(settings.server_dir / "id")
    # servers on this folder share its id, so that each finds the tasks of the others
    engine_settings = settings.for_engine(folder_id)
    for sentence in name_by_id(engine_settings.kept["shared"], database.read(people.projects_by_id)):
        log.warning("%s", sentence)
    instruments = Instruments(make_traces(settings.otlp_endpoint, settings.name))
    parts = Context(
        database=database,
        logs=logs,
        usage=usage,
        engines=make_engines(settings, engine_settings),
        sealer=sealer,
        server_url=settings.reached_at,
        server_id=_claims_as(folder_id, settings.name),
        log_days=settings.log_days,
        look=instruments.look,
    )
    scheduler = Scheduler(parts)
    state = ServerState(
        settings=settings,
        database=database,
        objects=make_objects(settings),
        blobs=make_blobs(settings, database),
        uploads=make_uploads(settings),
        logs=logs,
        usage=usage,
        metrics=make_metrics(settings, database),
        sealer=sealer,
        now=utc_now,
        wake_scheduler=scheduler.wake,
        ssh_host_key=public_host_key(settings.server_dir / HOST_KEY),
        instruments=instruments,
        terminals=Terminals(
            parts.engines, max_per_person=settings.max_shells_per_person, may_stay=guard(database, utc_now)
        ),
    )
    return state, scheduler, parts.engines


def make_engines(settings: ServerSettings, shared: EngineSettings) -> dict[str, Engine]:
    """Create the engines; by name, in the order of the settings. Each hides from its jobs the private paths of those
    created before it, remote engines first: their jobs run on other machines.

    Raise InvalidInput for an engine of this machine with private paths that is created after another of this machine:
    plugins can add such engines.
    """
    kinds = {name: load_engine(name) for name in settings.engines}
    _check_reachable(settings, is_remote=any(kind.is_remote for kind in kinds.values()))
    made: dict[str, Engine] = {}
    for name in sorted(kinds, key=lambda name: not kinds[name].is_remote):
        private = [path for engine in made.values() for path in engine.private_paths()]
        engine = kinds[name].create(shared.model_copy(update={"hide": (*shared.hide, *private)}))
        before = next((one for one in made if not kinds[one].is_remote), None)
        if before is not None and engine.private_paths():
            raise InvalidInput(
                f"engine: jobs of {before!r} would see private files of {name!r}; expected {name!r} before it, or one "
                "of them only"
            )
        made[name] = engine
    return {name: made[name] for name in kinds}


def _check_reachable(settings: ServerSettings, *, is_remote: bool) -> None:
    """Reject an address that other machines cannot use when tasks run there."""
    host = urlsplit(settings.reached_at).hostname or ""
    if is_remote and (host in ("localhost", "0.0.0.0", "::") or host.startswith("127.") or host == "::1"):
        raise InvalidInput(
            f"public_url: nodes fetch their inputs from {settings.reached_at}, which other machines do not reach; "
            "expected an address of this machine as --host, or of a proxy in DANLU_SERVER_PUBLIC_URL"
        )


def shared_facts(settings: ServerSettings) -> dict[str, str]:
    """Facts that all servers on one database must agree on."""
    return {
        facts.DATA_FOLDER: _folder_id(settings.server_dir / "id"),
        facts.SEALING_KEY: Sealer(settings.server_dir / "secret.key").fingerprint,
        facts.OBJECTS: where_objects_are(settings),
    }


def only_one(settings: ServerSettings, *, is_shared: bool) -> IO[str]:
    """Lock the data folder for this server; if several share it, lock only the server's name."""
    file = (settings.server_dir / (f"lock.{settings.name}" if is_shared else "lock")).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        if not is_shared:
            told = f"another Danlu server uses {settings.home}; stop it, or choose another --data-dir"
        else:
            told = f"another Danlu server called {settings.name!r} uses {settings.home}; give each its own --name"
        raise Conflict(told) from error
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


def _folder_id(path: Path) -> str:
    """The id of this data folder, created by the first server on it."""
    if not path.exists():
        fresh = path.with_name(f".partial.{os.getpid()}.id")
        fresh.write_text(uuid.uuid4().hex)
        with suppress(FileExistsError):  # another server created it first
            os.link(fresh, path)
        fresh.unlink()
    return path.read_text().strip()


def _claims_as(folder_id: str, name: str) -> str:
    """The id under which this server claims work. It is stable across restarts, so that no claim must expire first."""
    return folder_id if not name else hashlib.sha256(f"{folder_id} {name}".encode()).hexdigest()[:32]
