"""Ports for servers of a test that cannot be told to choose one themselves."""

from __future__ import annotations

import random
import socket
from pathlib import Path

FIRST = 10_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A port that nobody listens on, outside of those that the kernel gives to connections.

    One of those would be given away again before the server listens: tests make thousands of connections.
    """
    end = int(RANGE.read_text().split()[0]) if RANGE.exists() else 32_768
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(FIRST, max(end, FIRST + 1000))
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
