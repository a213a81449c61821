"""The SSH server: public keys only, one task per connection, no access to any host."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import asyncssh
from asyncssh.forward import SSHForwarder

from danlu.auth.throttle import network_of
from danlu.errors import DanluError
from danlu.gateway.ssh import process as processes
from danlu.gateway.ssh.gate import Guest, SshGate, parse_wish
from danlu.gateway.ssh.process import TaskProcess
from danlu.gateway.tasks import Engines, Target, connect
from danlu.gateway.turns import Turns

log = logging.getLogger(__name__)
T = TypeVar("T")

LOGIN_SECONDS = 30
KEEPALIVE_SECONDS = 30
LOOK_SECONDS = 5.0
"""How often the rights behind open connections are checked again."""

MAX_CONNECTIONS = 500
MAX_PER_PERSON = 50
MAX_STRANGERS, MAX_STRANGERS_PER_ADDRESS = 100, 20
"""Unauthenticated connections, in total and from one address: the rest is reserved for users."""

MAX_OFFERS = 20
"""Keys that one connection may offer: each costs a lookup."""

MAX_SESSIONS, MAX_FORWARDS = 20, 200
"""Commands, and connections to ports, that one connection has open: each uses threads or files of the server."""

MAX_SESSIONS_PER_PERSON, MAX_FORWARDS_PER_PERSON = 40, 200
"""The same for all connections of one user."""

NUM_THREADS, NUM_CONNECTING, NUM_OPENING = 8, 16, 32
CONNECTING_AT_ONCE, OPENING_AT_ONCE = 4, 8
"""Ports being connected, and commands being started or ended, for one user: a node may be slow."""

OWN_NAMES = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
"""Host names that mean the task itself when a client requests one of its ports."""


class SshGateway:
    """For one event loop."""

    def __init__(self, engines: Engines, gate: SshGate, *, host_key: Path) -> None:
        self._engines, self._gate, self._host_key = engines, gate, host_key
        self._threads = ThreadPoolExecutor(NUM_THREADS, thread_name_prefix="ssh")
        # in separate threads: a port or a node that does not answer must not delay authentication
        self._connecting = Turns(NUM_CONNECTING, "ssh-ports")
        self._opening = Turns(NUM_OPENING, "ssh-commands")
        self.connections: set[_Connection] = set()

    async def serve(self, listener: socket.socket) -> None:
        """Serve until cancelled."""
        server = await asyncssh.listen(
            sock=listener,
            server_factory=lambda: _Connection(self),
            server_host_keys=[str(self._host_key)],
            encoding=None,
            line_editor=False,
            agent_forwarding=False,
            x11_forwarding=False,
            login_timeout=LOGIN_SECONDS,
            keepalive_interval=KEEPALIVE_SECONDS,
            compression_algs=["none"],  # against compression bombs
            server_version="Danlu",
        )
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                await self._look_who_may_stay()
        finally:
            server.close()
            for connection in list(self.connections):
                connection.abort()
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._connecting.close()
            self._opening.close()

    def has_room(self, address: str) -> bool:
        """Whether one more unauthenticated client may connect from this address."""
        strangers = [one.address for one in self.connections if one.guest is None]
        return (
            len(self.connections) < MAX_CONNECTIONS
            and len(strangers) < MAX_STRANGERS
            and strangers.count(address) < MAX_STRANGERS_PER_ADDRESS
        )

    def of(self, guest: Guest) -> list[_Connection]:
        """The authenticated connections of a user."""
        return [one for one in self.connections if one.guest is not None and one.guest.user_id == guest.user_id]

    async def enter(self, user: str, fingerprint: str) -> Guest | None:
        wish = parse_wish(user)
        if wish is None:
            return None
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, self._gate.enter, wish, fingerprint)
        except DanluError as error:
            log.info("%s was denied SSH access: %s", user, error)
            return None

    async def connect(self, guest: Guest, port: int) -> socket.socket:
        target = Target(guest.engine, guest.task, port)
        return await self._connecting.call(lambda: connect(self._engines, target), {guest.user_id: CONNECTING_AT_ONCE})

    def note(self, guest: Guest) -> None:
        asyncio.get_running_loop().run_in_executor(self._threads, self._gate.note, guest)

    async def run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        guest = process.get_extra_info("danlu.guest")

        async def in_turn(function: Callable[[], T]) -> T:
            return await self._opening.call(function, {guest.user_id: OPENING_AT_ONCE})

        await processes.run(process, guest, engines=self._engines, in_thread=in_turn)

    async def _look_who_may_stay(self) -> None:
        loop = asyncio.get_running_loop()
        for connection in list(self.connections):
            if connection.guest is None:
                continue
            try:
                may_stay = await loop.run_in_executor(self._threads, self._gate.may_stay, connection.guest)
            except DanluError:  # keep connections while the database does not answer
                continue
            if not may_stay:
                connection.abort()


class _Connection(asyncssh.SSHServer):
    def __init__(self, gateway: SshGateway) -> None:
        self._gateway = gateway
        self._connection: asyncssh.SSHServerConnection | None = None
        self.address = ""
        self.guest: Guest | None = None
        """Set once the client has proved that it owns the key."""

        self._offered: Guest | None = None
        self._num_offers = 0
        self.num_sessions = self.num_forwards = 0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        peer = conn.get_extra_info("peername")
        self.address = network_of(peer[0]) if peer else ""
        if not self._gateway.has_room(self.address):
            conn.abort()
            return
        self._gateway.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._gateway.connections.discard(self)

    def abort(self) -> None:
        if self._connection is not None:
            self._connection.abort()

    # authentication

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    async def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Called once for an offered key and again for one that has signed. Any client can offer any key."""
        self._num_offers += 1
        if self._num_offers > MAX_OFFERS:
            self.abort()
            return False
        guest = await self._gateway.enter(username, key.get_fingerprint())
        if guest is None or len(self._gateway.of(guest)) >= MAX_PER_PERSON:
            return False
        self._offered = guest
        return True

    def auth_completed(self) -> None:
        """Only now has the client proved that it owns the key: the one that was validated last."""
        self.guest = self._offered
        if self.guest is not None and self._connection is not None:
            self._connection.set_extra_info(**{"danlu.guest": self.guest})
            self._gateway.note(self.guest)

    # what clients may request

    def session_requested(self) -> tuple[asyncssh.SSHServerChannel[bytes], asyncssh.SSHServerSession[bytes]]:
        if self.num_sessions >= MAX_SESSIONS:
            raise _too_many(f"a connection has at most {MAX_SESSIONS} commands open")
        if sum(one.num_sessions for one in self._theirs()) >= MAX_SESSIONS_PER_PERSON:
            raise _too_many(f"you have {MAX_SESSIONS_PER_PERSON} commands open, which is the maximum; end one first")
        self.num_sessions += 1
        assert self._connection is not None
        channel = self._connection.create_server_channel(encoding=None)
        return channel, TaskProcess(self._gateway.run, ended=self._session_ended)

    def connection_requested(self, dest_host: str, dest_port: int, *_from: object) -> asyncssh.SSHTCPSession[bytes]:
        """Forward a port of the task itself, under its local names; other hosts are rejected."""
        if dest_host not in OWN_NAMES or not 0 < dest_port < 65536 or self.guest is None:
            told = f"only ports of the job itself can be reached: localhost:PORT, got {dest_host[:100]}:{dest_port}"
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, told)
        return self._forward(self.guest, dest_port)  # type: ignore[return-value]

    async def _forward(self, guest: Guest, port: int) -> object:
        if self.num_forwards >= MAX_FORWARDS:
            raise _too_many(f"a connection has at most {MAX_FORWARDS} forwarded connections open")
        if sum(one.num_forwards for one in self._theirs()) >= MAX_FORWARDS_PER_PERSON:
            raise _too_many(f"you have {MAX_FORWARDS_PER_PERSON} forwarded connections open, which is the maximum")
        self.num_forwards += 1
        try:
            made = await self._gateway.connect(guest, port)
        except DanluError as error:
            self.num_forwards -= 1
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, str(error)) from error
        made.setblocking(False)
        _, peer = await asyncio.get_running_loop().create_connection(lambda: _Port(self._forward_ended), sock=made)
        return SSHForwarder(peer)

    def _theirs(self) -> list[_Connection]:
        return [] if self.guest is None else self._gateway.of(self.guest)

    def _forward_ended(self) -> None:
        self.num_forwards -= 1

    def _session_ended(self) -> None:
        self.num_sessions -= 1


class _Port(SSHForwarder):
    """The task's side of a forwarded connection."""

    def __init__(self, ended: Callable[[], None]) -> None:
        super().__init__()
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._ended()


def _too_many(told: str) -> asyncssh.ChannelOpenError:
    return asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, told)
