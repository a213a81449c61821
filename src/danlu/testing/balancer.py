"""A small load balancer, like nginx: round-robin over servers, skipping those that are down."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress


class Balancer:
    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._backends: Sequence[int] = ()
        self._turn = itertools.count()
        self._is_over = False
        self.num_connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self, *urls: str) -> None:
        """Forward new connections to these servers."""
        self._backends = [int(url.rpartition(":")[2]) for url in urls]

    def close(self) -> None:
        self._is_over = True
        self._listener.close()

    def _accept(self) -> None:
        while not self._is_over:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.num_connections += 1
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        first = next(self._turn)
        backends = self._backends
        for number in range(len(backends)):
            with suppress(OSError):
                server = socket.create_connection(("127.0.0.1", backends[(first + number) % len(backends)]))
                break
        else:
            client.close()
            return
        with client, server:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
    except OSError:
        pass
    finally:
        for end in (source, target):  # the end of one side ends both: no half-open connections needed
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
