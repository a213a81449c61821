"""The SSH gateway: what one client holds, and what is left when it goes away."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import Any

import asyncssh
import pytest
from asyncssh.channel import SSHClientChannel
from tests.conftest import end_server

from danlu.client.jobs.job import Job
from danlu.gateway.ssh.server import MAX_OFFERS, MAX_SESSIONS, MAX_SESSIONS_PER_PERSON, MAX_STRANGERS_PER_ADDRESS
from danlu.spec.states import JobState
from danlu.testing.gates import UNTIL_STOPPED
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


class Way:
    """Somebody's way into a job of theirs."""

    def __init__(self, server: RunningServer, job: Job, port: int) -> None:
        self.server, self.job, self.port = server, job, port
        self.key = asyncssh.generate_private_key("ssh-ed25519")

    def connect(self, *keys: Any, source: str = "127.0.0.1", **options: Any) -> Any:
        return asyncssh.connect(
            *("127.0.0.1", self.port),
            username=self.job.id,
            client_keys=list(keys or (self.key,)),
            known_hosts=None,
            agent_path=None,
            config=None,
            local_addr=(source, 0),
            **options,
        )

    async def works(self) -> None:
        async with self.connect(source="127.0.0.9") as connection:
            done = await connection.run("echo $DANLU_JOB_ID")
            assert done.stdout == f"{self.job.id}\n"

    def num_held(self) -> int:
        """Open files and threads of the server."""
        folder = f"/proc/{self.server.pid}"
        return len(os.listdir(f"{folder}/fd")) + len(os.listdir(f"{folder}/task"))


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    server = RunningServer(tmp_path_factory.mktemp("ssh") / "data").start()
    with server.client() as client:
        job = client.jobs.submit(name="entered", command=UNTIL_STOPPED)
        wait_until(lambda: job.refresh().state is JobState.RUNNING, lambda: job.refresh().reason)
        made = Way(server, job, client.ssh_keys.gateway().port)
        client.ssh_keys.add(made.key.export_public_key().decode())
        yield made
    end_server(server)


def run(work: Awaitable[None]) -> None:
    async def all_of_it() -> None:
        await work

    asyncio.run(all_of_it())


class TestGoneClients:
    """What they leave would add up until the server has no files and no threads left."""

    def leaves_nothing(self, way: Way, once: Callable[[], Awaitable[None]]) -> None:
        run(way.works())
        run(once())
        before = way.num_held()
        for _ in range(8):
            run(once())
        # each would leave some ten; threads of pools may come up to their number
        wait_until(lambda: way.num_held() < before + 40, lambda: (before, way.num_held()))
        run(way.works())

    def test_a_window_larger_than_the_kernel_knows(self, way: Way) -> None:
        async def once() -> None:
            async with way.connect() as connection:
                for _ in range(10):
                    size = (1 << 31, 1 << 31)
                    done = await connection.run("stty size", term_type="xterm", term_size=size)
                    assert done.stdout.strip() == "65535 65535"

        self.leaves_nothing(way, once)

    def test_a_command_that_does_not_read_what_was_typed(self, way: Way) -> None:
        async def once() -> None:
            async with way.connect() as connection:
                for terminal in (None, "xterm") * 5:
                    process = await connection.create_process("echo in; exec sleep 600", term_type=terminal)
                    assert (await process.stdout.readline()).strip() == "in"
                    process.stdin.write("x" * (1 << 18))

        self.leaves_nothing(way, once)

    def test_a_session_that_asks_for_nothing(self, way: Way) -> None:
        async def once() -> None:
            async with way.connect() as connection:
                for _ in range(MAX_SESSIONS + 5):
                    channel = await _open_session(connection)
                    channel.close()
                    await channel.wait_closed()
                assert (await connection.run("echo still here")).stdout == "still here\n"

        self.leaves_nothing(way, once)


class TestStrangers:
    def test_offering_somebodys_key_takes_none_of_their_connections(self, way: Way) -> None:
        """Public keys are public. Whoever offers one and does not sign is a stranger still."""

        async def try_it() -> None:
            async with AsyncExitStack() as stack:
                for _ in range(MAX_STRANGERS_PER_ADDRESS):
                    await stack.enter_async_context(_offering(way, source="127.0.0.5"))
                await way.works()

        run(try_it())

    def test_one_address_holds_few_connections(self, way: Way) -> None:
        with ExitStack() as stack:
            for _ in range(MAX_STRANGERS_PER_ADDRESS):
                held = stack.enter_context(_raw(way, "127.0.0.5"))
                assert held.recv(4) == b"SSH-"
            with _raw(way, "127.0.0.5") as one_too_many:
                assert one_too_many.recv(4) == b""
            run(way.works())

    def test_a_connection_offers_so_many_keys(self, way: Way) -> None:
        async def try_it() -> None:
            keys = [asyncssh.generate_private_key("ssh-ed25519") for _ in range(MAX_OFFERS)]
            with pytest.raises((asyncssh.Error, OSError)):
                async with way.connect(*keys, way.key):
                    pass
            async with way.connect(*keys[: MAX_OFFERS // 2], way.key):
                pass

        run(try_it())


class TestMembers:
    def test_commands_of_all_connections_count_together(self, way: Way) -> None:
        async def try_it() -> None:
            async with AsyncExitStack() as stack:
                for _ in range(MAX_SESSIONS_PER_PERSON // MAX_SESSIONS):
                    connection = await stack.enter_async_context(way.connect())
                    for _ in range(MAX_SESSIONS):
                        process = await connection.create_process("echo in; exec cat")
                        assert await process.stdout.readline() == "in\n"
                another = await stack.enter_async_context(way.connect())
                with pytest.raises(asyncssh.ChannelOpenError, match="commands open, which is the maximum"):
                    await another.create_process("true")
            await way.works()

        run(try_it())

    def test_nothing_is_compressed(self, way: Way) -> None:
        """A few bytes would unpack to very many."""

        async def try_it() -> None:
            async with way.connect(compression_algs=["zlib@openssh.com", "none"]) as connection:
                assert connection.get_extra_info("recv_compression") == "none"
                assert connection.get_extra_info("send_compression") == "none"

        run(try_it())


async def _open_session(connection: Any) -> Any:
    """A channel that nothing is asked of: what the library's own way of opening one does not end with."""
    loop = asyncio.get_running_loop()
    channel: Any = SSHClientChannel(connection, loop, "strict", None, "strict", 1 << 20, 1 << 15)
    await channel._open(b"session")
    return channel


class _NotSigned(asyncssh.SSHKeyPair):
    """Somebody's public key, in the hands of another."""

    def __init__(self, key: asyncssh.SSHKey) -> None:
        kind = key.algorithm
        super().__init__(kind, kind, key.sig_algorithms, key.sig_algorithms, key.public_data, None)
        self.is_taken = asyncio.Event()

    async def sign_async(self, _data: bytes) -> bytes:
        """Asked once the server has said that the key would do."""
        self.is_taken.set()
        await asyncio.Event().wait()
        return b""


@asynccontextmanager
async def _offering(way: Way, source: str) -> AsyncIterator[None]:
    """A connection that has offered the key of somebody else, and waits."""
    key = _NotSigned(way.key)
    connecting = asyncio.ensure_future(way.connect(key, source=source))
    await key.is_taken.wait()
    try:
        yield
    finally:
        connecting.cancel()
        await asyncio.gather(connecting, return_exceptions=True)


def _raw(way: Way, source: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", way.port), source_address=(source, 0))
