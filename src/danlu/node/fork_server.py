"""Starts attempts by forking, so that what their processes need is loaded only once.

    python -I -S fork_server.py CONTROL_FD START_SECONDS [FILE]      FILE: the compiled search for ends of chunks

Each message on the control socket carries two descriptors: the start lock of an attempt, and a socket on which its
`Gang` is received and the answer sent (`ok`, or one sentence about the problem). An incomplete request, whose writer
died, starts nothing. A forked child handles the request within START_SECONDS, so this process never holds a secret. It
ends when the control socket closes; tasks that it started keep running.
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

from danlu.node.compiled_cutting import load_compiled
from danlu.node.stage import stager  # noqa: F401  loaded for the shims, which fork it
from danlu.node.supervise import linux
from danlu.node.supervise.gang import start
from danlu.node.task import OK, TaskUnreadable, gang_from_json


def serve(control: socket.socket, start_seconds: int) -> None:
    """Fork for each message until the socket is closed."""
    while True:
        message, files, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return
        start_lock, request = files
        for file in files:
            os.set_inheritable(file, False)
        if os.fork() == 0:
            control.close()
            signal.alarm(start_seconds)  # not inherited by further forks
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
    """`own`: descriptors that the shims must not inherit."""
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
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped automatically
    linux.name_process("danlu-forks")
    if sys.argv[3:]:
        load_compiled(sys.argv[3])  # now: the users of jobs may not be able to read the file
    gc.freeze()  # all children share the memory pages of what is loaded
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))


if __name__ == "__main__":
    main()
