"""Opens the server's API inside a gang's own network: a socket listens there, and a forwarder outside serves it."""

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

    `forwarder` is its command without the descriptors and the address: `(*python, script, url)`. It listens on
    API_ADDRESS, which must be one of the network's addresses.
    """
    listening = _listen_inside(net)
    watched, leash = os.pipe2(os.O_CLOEXEC)
    if os.fork() == 0:
        _become(forwarder, listening, watched)
    listening.close()
    os.close(watched)
    return leash


def _listen_inside(net: network.Network) -> socket.socket:
    """A socket of that network. A child makes it, because a user namespace cannot be left again."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            try:
                network.enter(net)
                made = socket.create_server((API_ADDRESS, API_PORT), backlog=_BACKLOG)
                socket.send_fds(theirs, [b"ok"], [made.fileno()])
            except OSError as error:
                theirs.send(str(error).encode()[:200])
            finally:
                os._exit(0)
        theirs.close()
        told, descriptors, _, _ = socket.recv_fds(ours, 256, 1)
        os.waitpid(child, 0)
    if not descriptors:
        raise OSError(told.decode(errors="replace") or "the process that opens the API in the job's network ended")
    return socket.socket(fileno=descriptors[0])


def _become(forwarder: Sequence[str], listening: socket.socket, watched: int) -> NoReturn:
    *command, url = forwarder
    try:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        for passed in (listening.fileno(), watched):
            os.set_inheritable(passed, True)
        os.execv(command[0], [*command, str(listening.fileno()), str(watched), url])
    finally:
        os._exit(1)
