"""Ports for test servers that cannot choose a free one themselves."""

from __future__ import annotations

import random
import socket
from pathlib import Path

FIRST = 10_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A free port outside of the kernel's range for outgoing connections.

    Tests open thousands of connections, so a port in that range could be taken before the server listens.
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
