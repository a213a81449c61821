"""A world with people, running jobs and the proxy before them. The clock is the test's, the bytes are real."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import ThreadingHTTPServer

import pytest
from tests.support.endpoint_app import App
from tests.support.endpoints import Browser
from tests.support.world import World, make_world

from danlu.auth.identity import Origin, Role, UserIdentity
from danlu.gateway.proxy.names import BareAddress, EndpointNames
from danlu.gateway.proxy.server import Proxy, ProxyLimits
from danlu.gateway.thread import GatewayThread
from danlu.server.endpoints import service
from danlu.server.endpoints.operations import EndpointGate
from danlu.server.gateway_ports import Doors, listen
from danlu.wire.endpoints import OpenEndpoint


@dataclass
class Site:
    """Ada's job in `vision` and Finn's in `other`, each with a program on port 8080; the proxy before both."""

    world: World
    doors: Doors
    people: dict[str, UserIdentity] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)

    def link(self, who: str, job: str, port: int = 8080, *, host: str = "") -> str:
        """What `danlu open` prints for somebody who calls the server so. Raise DanluError."""
        return self.world.database.write(
            service.make_link, self.world.state, self.people[who], self.jobs[job], str(port), host=host
        ).url

    def browser(self, who: str = "ada", job: str = "ada", port: int = 8080, **headers: str) -> Browser:
        return Browser(self.link(who, job, port), **headers).enter()

    def share(self, job: str, *, is_shared: bool = True, port: int = 8080) -> None:
        body = OpenEndpoint(is_shared=is_shared)
        self.world.database.write(
            service.open_endpoint, self.world.state, self.world.admin, self.jobs[job], str(port), body=body
        )

    def close(self, job: str, port: int = 8080) -> None:
        self.world.database.write(service.close_endpoint, self.world.state, self.world.admin, self.jobs[job], str(port))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """For tests that leave it as it is."""
    with make_world(tmp_path_factory.mktemp("site") / "data") as world, make_site(world) as made:
        yield made


@pytest.fixture
def own_site(world: World) -> Iterator[Site]:
    with make_site(world) as made:
        yield made


@contextmanager
def make_site(world: World, limits: ProxyLimits | None = None) -> Iterator[Site]:
    doors = listen(world.settings.model_copy(update={"endpoints_port": 0, "ssh_port": 0, "endpoints_bare_port": 0}))
    object.__setattr__(world.state, "settings", doors.settings)
    made = Site(world, doors)
    for name, project, role in (
        ("ada", "vision", Role.MEMBER),
        ("ben", "vision", Role.MEMBER),
        ("vera", "vision", Role.VIEWER),
        ("olga", "vision", Role.OWNER),
        ("finn", "other", Role.MEMBER),
    ):
        who = world.add_user(name, project, role)
        key = world.api_key(who).partition(".")[0].removeprefix("dk-")
        made.people[name] = replace(who, origin=Origin(via=f"key {key}"))
    gate = EndpointGate(world.database, world.sealer, world.clock)
    names = EndpointNames(doors.settings.endpoints_at)
    engines, bare = {"local": world.engine}, doors.bare
    assert bare is not None
    bare_gate = EndpointGate(world.database, world.sealer, world.clock, is_bare=True)
    address = BareAddress(doors.settings.endpoints_bare_port or 0)
    gateway = GatewayThread(
        [
            lambda: Proxy(engines, gate, names=names, limits=limits).serve(doors.endpoints),
            lambda: Proxy(engines, bare_gate, names=address, limits=limits).serve(bare),
        ]
    )
    with _programs(2) as ports:
        for (name, project), port in zip((("ada", "vision"), ("finn", "other")), ports):
            job = world.started(who=made.people[name], project=project, endpoints=[8080, 9090])
            world.engine.ports[job, 8080] = port
            made.jobs[name] = job
        gateway.start()
        yield made
        gateway.stop()
    for opened in (doors.endpoints, doors.ssh, bare):
        opened.close()


@contextmanager
def _programs(number: int) -> Iterator[list[int]]:
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), App) for _ in range(number)]
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield [server.server_address[1] for server in servers]
    for server in servers:
        server.shutdown()
        server.server_close()


def raw(site: Site, request: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back until the proxy closes."""
    with socket.create_connection(("127.0.0.1", site.doors.settings.endpoints_port or 0)) as sock:
        sock.sendall(request)
        with sock.makefile("rb") as answer:
            return answer.read()
