"""A whole Danlu in one process: real database, real store, real HTTP; only the engine is driven by hand."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from argon2 import PasswordHasher
from fastapi import FastAPI
from sqlalchemy import inspect
from starlette.routing import BaseRoute
from tests.fakes.engine import FakeEngine
from tests.support.databases import copy_sqlite

from danlu.auth.identity import JobIdentity, Role, UserIdentity
from danlu.auth.passwords import Passwords
from danlu.auth.secrets import Sealer
from danlu.scheduler.context import Context
from danlu.scheduler.loop import Scheduler
from danlu.server.app import MAX_HEAD_BYTES, create_app
from danlu.server.console.files import Console
from danlu.server.identity import user_identity
from danlu.server.jobs import operations as job_operations
from danlu.server.jobs import service as job_service
from danlu.server.jobs.identity import job_identity
from danlu.server.jobs.view import job_out
from danlu.server.objects.located import locate
from danlu.server.people import service as people_service
from danlu.server.projects.members import add_member
from danlu.server.protocol import http_protocol
from danlu.server.settings import ServerSettings
from danlu.server.state import ServerState
from danlu.spec.devices import Device
from danlu.spec.nodes import NodeInfo
from danlu.spec.paths import StorePath, parse_store_path
from danlu.store.logs.index import Logs
from danlu.store.logs.segments import LogFiles
from danlu.store.metrics.journal_files import JournalFiles
from danlu.store.metrics.store import Metrics
from danlu.store.metrics.usage import UsageFiles
from danlu.store.objects.blobs import Blobs
from danlu.store.objects.local import LocalObjects
from danlu.store.objects.uploads import Uploads
from danlu.store.queries import buckets, people
from danlu.store.sql import migrate
from danlu.store.sql.database import Database, sqlite_url
from danlu.testing.waiting import wait_until
from danlu.wire.auth import MakeKey
from danlu.wire.jobs import JobOut, SubmitJob
from danlu.wire.people import RoleName

CHEAP = Passwords(PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
"""Passwords that take no time; those of a real server take a core for a moment."""

_routes: dict[int, BaseRoute] = {}

START = datetime(2026, 1, 1, 12, 0, 0, tzinfo=timezone.utc)


def make_node(name: str = "here", *, npus: int = 8, cpus: float = 16, **changes: Any) -> NodeInfo:
    devices = tuple(Device(type="npu", id=number, model="910b") for number in range(npus))
    values: dict[str, Any] = {
        "name": name,
        "cpus": cpus,
        "memory_bytes": 64 << 30,
        "devices": devices,
        "max_tasks": 64,
        "has_sandbox": True,
        "has_own_network": True,
        "holds_many_tasks": True,
    }
    return NodeInfo(**{**values, **changes})


@dataclass
class Clock:
    """A clock that moves when told to."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class World:
    folder: Path
    engine: FakeEngine
    clock: Clock
    settings: ServerSettings
    database: Database
    sealer: Sealer
    logs: Logs
    state: ServerState = field(init=False)
    scheduler: Scheduler = field(init=False)
    admin: UserIdentity = field(init=False)

    def __post_init__(self) -> None:
        self.scheduler = self.new_scheduler("server-1")
        self.state = ServerState(
            settings=self.settings,
            database=self.database,
            objects=LocalObjects(self.settings.objects_dir),
            blobs=Blobs(LocalObjects(self.settings.server_dir), self.database),
            uploads=Uploads(self.settings.server_dir / "uploads"),
            logs=self.logs,
            usage=UsageFiles(self.settings.log_dir),
            metrics=Metrics(
                self.database,
                JournalFiles(self.settings.server_dir / "runs"),
                LocalObjects(self.settings.server_dir),
            ),
            sealer=self.sealer,
            console=Console(self.settings.server_dir / "none"),  # tests do not depend on whether it was built
            now=self.clock,
            wake_scheduler=self.scheduler.wake,
            passwords=CHEAP,
        )
        self.database.write(people_service.first_start, self.clock())
        self.admin = self.identity(people_service.ADMIN)

    def context(self, server_id: str) -> Context:
        return Context(
            database=self.database,
            logs=self.logs,
            usage=UsageFiles(self.settings.log_dir),
            engines={self.engine.name: self.engine},
            sealer=self.sealer,
            server_url="http://127.0.0.1:1",
            server_id=server_id,
            now=self.clock,
        )

    def new_scheduler(self, server_id: str) -> Scheduler:
        return Scheduler(self.context(server_id), queue_share=1.0, patience_seconds=60.0)

    # people

    def identity(self, name: str) -> UserIdentity:
        with self.database.reading() as session:
            user = people.user_by_name(session, name)
            assert user is not None
            return user_identity(session, user.id)

    def add_user(self, name: str, project: str | None = None, role: Role = Role.MEMBER) -> UserIdentity:
        """Add somebody, and the project with its bucket when it is new."""
        with self.database.writing() as session:
            user = people.add_user(session, name, is_admin=False, at=self.clock())
            if project is not None:
                known = {title: number for number, title in people.projects_by_id(session).items()}
                if project not in known:
                    known[project] = people.add_project(session, project).id
                    buckets.add_bucket(session, project, project_id=known[project], at=self.clock())
                add_member(session, known[project], user, RoleName(role.value))
        return self.identity(name)

    def api_key(self, who: UserIdentity | None = None, **options: Any) -> str:
        made = self.database.write(people_service.make_key, who or self.admin, MakeKey(**options), self.clock())
        return made.api_key

    def job_identity(self, job_id: str) -> JobIdentity:
        """A running job as its token shows it."""
        return self.database.read(job_identity, self.job_token(job_id))

    def job_token(self, job_id: str, attempt: int = 1) -> str:
        return self.sealer.token(job_id, attempt)

    # jobs

    def submit(self, who: UserIdentity | None = None, **spec: Any) -> str:
        """Submit a job and return its id. Ids grow with the clock, so it moves a little. Its inputs are there."""
        self.clock.pass_seconds(0.01)
        values = {"name": "job", "command": "train", **spec}
        for source in (*values.get("data", {}), (values.get("code") or {}).get("store") or ""):
            self.fill(source)
        return job_operations.submit(self.state, who or self.admin, SubmitJob(spec=values)).id

    def fill(self, source: str) -> None:
        """Put an object where a job reads one, if its bucket is there."""
        if not source.startswith("store://"):
            return
        with self.database.reading() as session:
            where = locate(session, parse_store_path(source))
        if where is None or self._has_objects(where.stored):
            return
        is_folder = where.stored.key.endswith("/") or not where.stored.key
        self.state.objects.put_whole(
            where.stored / "input" if is_folder else where.stored, b"", sha256=sha256(b"").hexdigest()
        )

    def _has_objects(self, path: StorePath) -> bool:
        return bool(self.state.objects.list(path.bucket, prefix=path.key, delimiter="", after="", limit=1).objects)

    def job(self, job_id: str) -> JobOut:
        with self.database.reading() as session:
            return job_out(session, job_service.find(session, self.admin, job_id), self.clock())

    def tick(self, times: int = 1, scheduler: Scheduler | None = None) -> None:
        """Let the scheduler look, at the queue as well."""
        chosen = scheduler or self.scheduler
        for _ in range(times):
            chosen.wake()
            chosen.tick()
            chosen.finish_aside()

    def started(self, **spec: Any) -> str:
        """Submit a job and have its commands begin."""
        job_id = self.submit(**spec)
        self.tick()
        self.engine.run(job_id, at=self.clock().timestamp())
        self.tick()
        return job_id

    # HTTP

    def app(self, port: int = 0) -> FastAPI:
        """Routes are those of every other world: FastAPI takes each apart when it is first asked for."""
        settings = self.settings.model_copy(update={"port": port})  # the door calls the server it is in
        state = replace(self.state, settings=settings) if settings.tencent_door else self.state
        made = create_app(state, self.scheduler)
        for place, route in enumerate(made.router.routes):
            router = getattr(route, "original_router", None)
            if router is not None:
                made.router.routes[place] = _routes.setdefault(id(router), route)
        return made

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve on a free port; the scheduler does not run by itself."""
        # asyncio turns Nagle's algorithm off only for sockets that say they are TCP; each answer would wait 40 ms
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(128)
            config = uvicorn.Config(
                self.app(listener.getsockname()[1]),
                http=http_protocol(self.settings),
                log_level="error",
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            )
            server = _Server(config)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
            thread.start()
            wait_until(lambda: server.started)
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.end()
                thread.join()


class _Server(uvicorn.Server):
    """Ends when it is told to. Uvicorn's own looks ten times a second, and waits as long once more: a fifth of a second
    for each of two thousand tests."""

    _told: asyncio.Event
    _loop: asyncio.AbstractEventLoop

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._told.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._told, self._loop = asyncio.Event(), asyncio.get_running_loop()
        await super().startup(sockets)

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        tasks = set(self.server_state.tasks)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self.config.timeout_graceful_shutdown)
            for task in late:
                task.cancel()


@contextmanager
def make_world(folder: Path, *nodes: NodeInfo, database_url: str = "") -> Iterator[World]:
    settings = ServerSettings(data_dir=folder)
    for path in (settings.server_dir, settings.objects_dir):
        path.mkdir(parents=True, exist_ok=True)
    file = settings.server_dir / "danlu.db"
    if not database_url and not file.exists():
        copy_sqlite(file)
    database = Database(database_url or sqlite_url(file))
    if not inspect(database.engine).has_table("jobs"):
        migrate.upgrade(database)
    engine = FakeEngine(nodes or (make_node(),))
    logs = Logs(database, LogFiles(settings.server_dir / "logs"))
    sealer = Sealer(settings.server_dir / "secret.key")
    world = World(folder, engine, Clock(), settings, database, sealer, logs)
    world.scheduler.tick()
    yield world
    database.close()


class Api:
    """An HTTP client with one caller's credentials."""

    def __init__(self, url: str, key: str | None = None, **headers: str) -> None:
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.Client(base_url=f"{url}/api/v1", headers={**bearer, **headers}, timeout=None)

    def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.http.request(method, path, **options)

    def json(self, method: str, path: str, **options: Any) -> Any:
        response = self(method, path, **options)
        assert response.status_code < 300, response.text
        return response.json()

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
