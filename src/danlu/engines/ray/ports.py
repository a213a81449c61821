"""Connections to ports of tasks on other nodes: the agent holds the socket, and the bytes travel like those of a shell.

Nothing listens for this on any node: a client that Ray does not accept cannot reach a port of a task.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from danlu.engines.base import Channel, TerminalSize
from danlu.engines.ray.shells import PIECE_BYTES

FULL_SECONDS = 0.02
"""Pause when the task did not accept data."""


class SocketChannel(Channel):
    """A connected socket, held by the agent."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def read(self, limit: int) -> bytes:
        try:
            return self._socket.recv(limit)
        except OSError:
            return b""

    def write(self, data: bytes) -> int:
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except OSError:  # the task disconnected
            return len(data)

    def end_input(self) -> bool:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        return True

    def resize(self, size: TerminalSize) -> None:
        del size  # there is no terminal

    def exit_code(self) -> int:
        return 0

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes threads that read
        self._socket.close()


def as_socket(channel: Channel) -> socket.socket:
    """Server side: return a socket; two threads forward its bytes until both directions have ended."""
    ours, theirs = socket.socketpair()
    up = threading.Thread(target=_send, args=(theirs, channel), name="port-up", daemon=True)
    down = threading.Thread(target=_receive, args=(theirs, channel, up), name="port-down", daemon=True)
    up.start()
    down.start()
    return ours


def _send(end: socket.socket, channel: Channel) -> None:
    with contextlib.suppress(OSError):
        while data := end.recv(PIECE_BYTES):
            while data:
                taken = channel.write(data)
                data = data[taken:]
                if not taken:
                    time.sleep(FULL_SECONDS)
    while not channel.end_input():  # after all data was sent
        time.sleep(FULL_SECONDS)


def _receive(end: socket.socket, channel: Channel, up: threading.Thread) -> None:
    try:
        while data := channel.read(PIECE_BYTES):
            end.sendall(data)
        end.shutdown(socket.SHUT_WR)
        up.join()
    except OSError:  # the reader disconnected
        pass
    finally:
        channel.close()
        end.close()
