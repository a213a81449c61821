"""The SSH server: public keys only, one task per connection, nothing of any host in reach."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncssh
from asyncssh.forward import SSHForwarder

from danlu.errors import DanluError
from danlu.gateway.ssh import process as processes
from danlu.gateway.ssh.gate import Guest, SshGate, parse_wish
from danlu.gateway.ssh.process import TaskProcess
from danlu.gateway.tasks import Engines, Target, connect

log = logging.getLogger(__name__)

LOGIN_SECONDS = 30
KEEPALIVE_SECONDS = 30
LOOK_SECONDS = 5.0
"""How often it is looked who may still be where they are."""

MAX_CONNECTIONS = 500
MAX_PER_PERSON = 50
MAX_SESSIONS, MAX_FORWARDS = 20, 200
"""Commands, and connections to ports, that one connection has open: each is threads or files of the server's."""

NUM_THREADS, NUM_CONNECTING = 8, 16
CONNECTING_AT_ONCE = 4
OWN_NAMES = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
"""What a client may call the task when it asks for one of its ports."""


class SshGateway:
    """For one event loop."""

    def __init__(self, engines: Engines, gate: SshGate, *, host_key: Path) -> None:
        self._engines, self._gate, self._host_key = engines, gate, host_key
        self._threads = ThreadPoolExecutor(NUM_THREADS, thread_name_prefix="ssh")
        # apart, so that a port that does not answer keeps nobody from being let in
        self._connecting = ThreadPoolExecutor(NUM_CONNECTING, thread_name_prefix="ssh-ports")
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
            for pool in (self._threads, self._connecting):
                pool.shutdown(wait=False, cancel_futures=True)

    def may_begin(self, guest: Guest) -> bool:
        """Whether somebody may have one connection more."""
        theirs = [one for one in self.connections if one.guest is not None and one.guest.user_id == guest.user_id]
        return len(theirs) < MAX_PER_PERSON

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
        return await asyncio.get_running_loop().run_in_executor(self._connecting, connect, self._engines, target)

    def note(self, guest: Guest) -> None:
        asyncio.get_running_loop().run_in_executor(self._threads, self._gate.note, guest)

    async def run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        guest = process.get_extra_info("danlu.guest")
        await processes.run(process, guest, engines=self._engines)

    async def _look_who_may_stay(self) -> None:
        loop = asyncio.get_running_loop()
        for connection in list(self.connections):
            if connection.guest is None:
                continue
            try:
                may_stay = await loop.run_in_executor(self._threads, self._gate.may_stay, connection.guest)
            except DanluError:  # the database does not answer: that ends nothing
                continue
            if not may_stay:
                connection.abort()


class _Connection(asyncssh.SSHServer):
    def __init__(self, gateway: SshGateway) -> None:
        self._gateway = gateway
        self._connection: asyncssh.SSHServerConnection | None = None
        self.guest: Guest | None = None
        self._num_sessions = self._num_forwards = 0
        self._connecting = asyncio.Semaphore(CONNECTING_AT_ONCE)

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        if len(self._gateway.connections) >= MAX_CONNECTIONS:
            conn.abort()
            return
        self._gateway.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._gateway.connections.discard(self)

    def abort(self) -> None:
        if self._connection is not None:
            self._connection.abort()

    # who it is

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    async def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Asked once for a key that is offered and once for one that has signed."""
        guest = await self._gateway.enter(username, key.get_fingerprint())
        if guest is None or not self._gateway.may_begin(guest):
            return False
        self.guest = guest
        assert self._connection is not None
        self._connection.set_extra_info(**{"danlu.guest": guest})
        return True

    def auth_completed(self) -> None:
        """Only now they have shown that the key is theirs."""
        if self.guest is not None:
            self._gateway.note(self.guest)

    # what they may do

    def session_requested(self) -> tuple[asyncssh.SSHServerChannel[bytes], asyncssh.SSHServerSession[bytes]]:
        if self._num_sessions >= MAX_SESSIONS:
            told = f"a connection has at most {MAX_SESSIONS} commands open"
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, told)
        self._num_sessions += 1
        assert self._connection is not None
        channel = self._connection.create_server_channel(encoding=None)
        return channel, TaskProcess(self._run)

    def connection_requested(self, dest_host: str, dest_port: int, *_from: object) -> asyncssh.SSHTCPSession[bytes]:
        """A port of the task, under the names that a task has for itself; nothing else of any host."""
        if dest_host not in OWN_NAMES or not 0 < dest_port < 65536 or self.guest is None:
            told = f"only ports of the job itself can be reached: localhost:PORT, got {dest_host[:100]}:{dest_port}"
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, told)
        return self._forward(self.guest, dest_port)  # type: ignore[return-value]

    async def _forward(self, guest: Guest, port: int) -> object:
        if self._num_forwards >= MAX_FORWARDS:
            told = f"a connection has at most {MAX_FORWARDS} forwarded connections open"
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, told)
        self._num_forwards += 1
        try:
            async with self._connecting:
                made = await self._gateway.connect(guest, port)
        except DanluError as error:
            self._num_forwards -= 1
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, str(error)) from error
        made.setblocking(False)
        _, peer = await asyncio.get_running_loop().create_connection(lambda: _Port(self._forward_ended), sock=made)
        return SSHForwarder(peer)

    def _forward_ended(self) -> None:
        self._num_forwards -= 1

    async def _run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        try:
            await self._gateway.run(process)
        finally:
            self._num_sessions -= 1


class _Port(SSHForwarder):
    """The task's side of a forwarded connection."""

    def __init__(self, ended: Callable[[], None]) -> None:
        super().__init__()
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._ended()
