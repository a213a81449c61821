"""Make the server's API reachable in a gang's private network: a socket listens inside, served by a forwarder
outside."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from typing import NoReturn

from danlu.node.supervise import network

API_ADDRESS, API_PORT = "10.88.255.254", 8400
API_URL = f"http://{API_ADDRESS}:{API_PORT}"
_BACKLOG = 128


def open_api_door(net: network.Network, forwarder: Sequence[str]) -> int:
    """Start a forwarder and return the descriptor that keeps it alive. Raise OSError when it cannot listen there.

    `forwarder` is its command without the descriptors: `(*python, script, url, source)`. It listens on API_ADDRESS,
    which must be one of the network's addresses.
    """
    listening = _listen_inside(net)
    watched, leash = os.pipe2(os.O_CLOEXEC)
    if os.fork() == 0:
        _become(forwarder, listening, watched)
    listening.close()
    os.close(watched)
    return leash


def _listen_inside(net: network.Network) -> socket.socket:
    made = network.socket_inside(net)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((API_ADDRESS, API_PORT))
        made.listen(_BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def _become(forwarder: Sequence[str], listening: socket.socket, watched: int) -> NoReturn:
    *command, url, source = forwarder
    try:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        for passed in (listening.fileno(), watched):
            os.set_inheritable(passed, True)
        os.execv(command[0], [*command, str(listening.fileno()), str(watched), url, source])
    finally:
        os._exit(1)
