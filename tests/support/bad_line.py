"""A line between a client and a real server that ends connections early, late and in the middle."""

from __future__ import annotations

import random
import select
import socket
import threading
from contextlib import suppress
from typing import Optional

BLOCK = 64 << 10


class BadLine:
    """Passes bytes on, and ends connections as it is told to. Each connection has its own fate."""

    def __init__(self, url: str) -> None:
        self._backend = int(url.rpartition(":")[2])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self._clients: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._port}"
        self.num_connections = 0
        self.closed = threading.Semaphore(0)
        """Released whenever a connection ended because it was idle."""

        self.idle_seconds: Optional[float] = None
        self._cuts: dict[str, tuple[float, int]] = {}
        self._chance = random.Random(0)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, direction: str, share: float, max_bytes: int) -> None:
        """Cut so many of the connections after some bytes of the `request` or `answer` direction."""
        self._cuts[direction] = (share, max_bytes)

    def go(self) -> None:
        """End all connections; from now on they are refused."""
        # closing alone does not end an accept that another thread waits in
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def come(self) -> None:
        """Be there again, under the same address."""
        self._listener = socket.create_server(("127.0.0.1", self._port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        listener = self._listener
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self.num_connections += 1
            self._clients.append(client)
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _limit(self, direction: str) -> int:
        share, max_bytes = self._cuts.get(direction, (0.0, 0))
        return self._chance.randrange(max_bytes) if self._chance.random() < share else -1

    def _pass_on(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self._backend)) as server:
            left = {client: self._limit("request"), server: self._limit("answer")}
            other = {client: server, server: client}
            has_answered = False
            while True:
                idle = self.idle_seconds if has_answered else None
                ready = select.select([client, server], [], [], idle)[0]
                if not ready:
                    client.shutdown(socket.SHUT_RDWR)
                    self.closed.release()
                    return
                for one in ready:
                    data = one.recv(BLOCK)
                    if not data:
                        return
                    has_answered = one is server
                    if 0 <= left[one] <= len(data):
                        other[one].sendall(data[: left[one]])
                        return
                    left[one] -= len(data) if left[one] > 0 else 0
                    other[one].sendall(data)
