"""Connect to a port of a task on this machine, through the task's door."""

from __future__ import annotations

import contextlib
import socket

from danlu.engines.base import CONNECT_SECONDS
from danlu.engines.local.folders import TaskFolder
from danlu.errors import PortClosed, Unsupported, WrongState
from danlu.node.supervise.door import ask_for_socket
from danlu.node.task import TaskUnreadable, read_task

LOOPBACK = "127.0.0.1"


def connect(folder: TaskFolder, port: int) -> socket.socket:
    """See `CanConnect`. The socket belongs to the gang's network, so loopback is the gang's, not this machine's."""
    try:
        address = read_task(str(folder.path)).address
    except (OSError, TaskUnreadable) as error:
        raise WrongState("the task is not running; its ports can be reached while it is") from error
    if not address:
        told = "tasks on this node share the network of the machine, so their ports cannot be distinguished"
        raise Unsupported(told)
    for host in (address, LOOPBACK):
        with contextlib.suppress(ConnectionRefusedError):
            return _connected(folder, host, port)
    raise PortClosed(f"nothing listens on port {port} in the task")


def _connected(folder: TaskFolder, host: str, port: int) -> socket.socket:
    try:
        made = ask_for_socket(str(folder.path))
    except OSError as error:
        raise WrongState(f"the task is not running; its ports can be reached while it is ({error})") from error
    try:
        made.settimeout(CONNECT_SECONDS / 2)
        made.connect((host, port))
        made.settimeout(None)
    except ConnectionRefusedError:
        made.close()
        raise
    except OSError as error:
        made.close()
        raise PortClosed(f"port {port} of the task does not answer: {error}") from error
    return made
