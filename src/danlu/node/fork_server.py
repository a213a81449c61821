"""Starts attempts by forking: what the processes of an attempt need is loaded once, here, and not again for each.

    python -I -S fork_server.py CONTROL_FD START_SECONDS

Each message on the control socket carries two descriptors: the start lock of an attempt, and a socket on which its
`Gang` arrives and the answer leaves (`ok`, or one sentence on what went wrong). An incomplete request (its writer died)
starts nothing. A child does all of it, in START_SECONDS at most, so that this process never holds a secret. It ends
when the control socket closes; what it has started goes on.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

sys.path.append(os.path.abspath(os.path.join(__file__, "../../..")))

from danlu.node.stage import stager  # noqa: F401  loaded for the shims, which fork it
from danlu.node.supervise import linux
from danlu.node.supervise.gang import start
from danlu.node.task import OK, TaskUnreadable, gang_from_json


def serve(control: socket.socket, start_seconds: int) -> None:
    """Fork for each message, until the socket is closed."""
    while True:
        message, files, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return
        start_lock, request = files
        for file in files:
            os.set_inheritable(file, False)
        if os.fork() == 0:
            control.close()
            signal.alarm(start_seconds)  # not inherited by what is forked from here
            _answer(start_lock, request)
        for file in files:
            os.close(file)


def _answer(start_lock: int, request: int) -> NoReturn:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with socket.socket(fileno=request) as asked:
            asked.sendall(_start(_read(asked), (start_lock, request)).encode())
    finally:
        os._exit(0)


def _start(request: str, own: Sequence[int]) -> str:
    """`own`: descriptors that are not for the shims."""
    try:
        return start(gang_from_json(request), own) or OK
    except (OSError, TaskUnreadable) as error:
        return str(error)
    except Exception:
        return traceback.format_exc()


def _read(asked: socket.socket) -> str:
    pieces = []
    while piece := asked.recv(1 << 20):
        pieces.append(piece)
    return b"".join(pieces).decode()


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are not waited for
    linux.name_process("danlu-forks")
    gc.freeze()  # what is loaded stays in pages that all children share
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))


if __name__ == "__main__":
    main()
