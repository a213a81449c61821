"""A shell or a command of an SSH client, in the task: input, output, errors, the window's size and the exit code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

import asyncssh

from danlu.engines.base import CanOpenChannels, Channel, TerminalSize
from danlu.errors import DanluError
from danlu.gateway.ssh.gate import Guest
from danlu.gateway.tasks import Engines

T = TypeVar("T")
PIECE_BYTES = 1 << 16
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.001, 0.05
SHELL = ("/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash -l; else exec sh -l; fi")
SFTP = (
    *("/bin/sh", "-c"),
    'for p in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do [ -x "$p/sftp-server" ] && '
    'exec "$p/sftp-server"; done; echo "danlu: there is no sftp-server in the job; install openssh-sftp-server" >&2; '
    "exit 127",
)
REFUSED = 126


class TaskProcess(asyncssh.SSHServerProcess[bytes]):
    """A session that runs `sftp` as a command in the task: asyncssh's own would act as the server's user."""

    def __init__(
        self, factory: Callable[[asyncssh.SSHServerProcess[bytes]], Awaitable[None]], *, ended: Callable[[], None]
    ) -> None:
        """`ended` is called once, also when the client disconnects without a request."""
        super().__init__(factory, None, 0, False)
        self._ended, self._has_begun = ended, False

    def subsystem_requested(self, subsystem: str) -> bool:
        return subsystem == "sftp"

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self._has_begun:
            self._has_begun = True
            self._ended()

    def session_started(self) -> None:
        stdin, stdout = asyncssh.SSHReader(self, self._chan), asyncssh.SSHWriter(self, self._chan)
        stderr = asyncssh.SSHWriter(self, self._chan, asyncssh.EXTENDED_DATA_STDERR)
        running = self._start_process(stdin, stdout, stderr)
        assert self._conn is not None
        assert running is not None
        self._has_begun = True
        self._conn.create_task(self._to_its_end(running))

    async def _to_its_end(self, running: Awaitable[None]) -> None:
        try:
            await running
        finally:
            self._ended()


def command_of(process: asyncssh.SSHServerProcess[bytes]) -> Sequence[str] | None:
    """The command to run; None for an unknown subsystem."""
    if process.subsystem is not None:
        return SFTP if process.subsystem == "sftp" else None
    if process.command is None:
        return SHELL
    return ("/bin/sh", "-c", process.command)


class InThread(Protocol):
    """Runs a blocking call in a thread."""

    async def __call__(self, function: Callable[[], T], /) -> T: ...


async def run(
    process: asyncssh.SSHServerProcess[bytes], guest: Guest, *, engines: Engines, in_thread: InThread
) -> None:
    """Run what the client requests, until it ends or the client disconnects."""
    command, engine = command_of(process), engines.get(guest.engine)
    if command is None or not isinstance(engine, CanOpenChannels):
        process.stderr.write(b"danlu: this cannot be done here\n")
        process.exit(REFUSED)
        return
    size = _size(process) if process.term_type is not None else None
    try:
        channel = await in_thread(lambda: engine.open_channel(guest.task.handle, command, size, apart=size is None))
    except DanluError as error:
        process.stderr.write(f"danlu: {error}\n".encode())
        process.exit(REFUSED)
        return
    typing = asyncio.ensure_future(_type(process, channel, in_thread))
    printing = asyncio.gather(
        _print(channel.read, process.stdout, name=guest.task.job_id),
        _print(channel.read_errors, process.stderr, name=guest.task.job_id),
    )
    # a command that neither reads nor writes does not notice a disconnect
    gone = asyncio.ensure_future(process.channel.wait_closed())
    try:
        await asyncio.wait((printing, gone), return_when=asyncio.FIRST_COMPLETED)
        if not gone.done():
            process.exit(await in_thread(channel.exit_code))
    except (OSError, asyncssh.Error):
        pass  # the client has disconnected
    finally:
        for task in (typing, gone):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await in_thread(channel.close)
        await printing


async def _type(process: asyncssh.SSHServerProcess[bytes], channel: Channel, in_thread: InThread) -> None:
    """Forward input, window sizes and signals; hang up when the client disconnects."""
    while True:
        try:
            data = await process.stdin.read(PIECE_BYTES)
        except asyncssh.TerminalSizeChanged as change:
            channel.resize(TerminalSize(change.height or 24, change.width or 80))
            continue
        except asyncssh.BreakReceived:
            await _write(channel, b"\x03")
            continue
        except asyncssh.SignalReceived as signal:
            await _write(channel, {"INT": b"\x03", "QUIT": b"\x1c"}.get(signal.signal, b""))
            continue
        except (OSError, asyncssh.Error):
            break
        if not data:
            while not channel.end_input():
                await asyncio.sleep(LONGEST_PAUSE_SECONDS)
            if not process.channel.is_closing():
                await process.channel.wait_closed()
            break
        await _write(channel, data)
    await in_thread(channel.close)


async def _write(channel: Channel, data: bytes) -> None:
    pause = SHORTEST_PAUSE_SECONDS
    while data:
        taken = channel.write(data)
        data = data[taken:]
        if taken:
            pause = SHORTEST_PAUSE_SECONDS
        else:
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


async def _print(read: Callable[[int], bytes], writer: asyncssh.SSHWriter[bytes], *, name: str) -> None:
    """Copy output to the client. A thread reads it, and continues once the client has received the previous piece."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    async def send(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    def copy() -> None:
        try:
            while data := read(PIECE_BYTES):
                asyncio.run_coroutine_threadsafe(send(data), loop).result()
        except (OSError, asyncssh.Error, asyncio.CancelledError, RuntimeError):
            pass  # the client has disconnected
        finally:
            with suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(done.set)

    threading.Thread(target=copy, name=f"ssh to {name}", daemon=True).start()
    await done.wait()


def _size(process: asyncssh.SSHServerProcess[bytes]) -> TerminalSize:
    width, height, _, _ = process.term_size
    return TerminalSize(height or 24, width or 80)
