"""Starts the shims of an attempt's tasks on this machine, detached, and ends. Says nothing when all is well.

    python -I -S gang.py START_LOCK_FD < request

The request is a `Gang` (`node/task.py`). With addresses the tasks get a network of their own. An incomplete request
(its writer died) starts nothing. On failure one sentence goes to standard error and the exit code is 1; shims that
have started by then are for the caller to stop.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import NoReturn

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.supervise import linux, network, overlay
from danlu.node.supervise.api_door import open_api_door
from danlu.node.supervise.records import SHIM_LOG
from danlu.node.supervise.shim import AlreadyStarted, Shim
from danlu.node.supervise.way_out import open_way_out
from danlu.node.task import Gang, TaskUnreadable, gang_from_json


def start(gang: Gang, start_lock: int) -> str:
    """Start all shims; return what went wrong, or nothing."""
    net = network.make_network(list(gang.addresses)) if gang.addresses else None
    if net is not None and gang.overlay is not None:
        overlay.join(net, gang.overlay, addresses=gang.overlay_addresses)
    # the shims inherit the leashes of both helpers, and hold them as long as they live
    if net is not None and gang.way_out:
        open_way_out(net, gang.way_out, closed=gang.closed)
    if net is not None and gang.forwarder:
        open_api_door(net, gang.forwarder)
    started, report = os.pipe2(os.O_CLOEXEC)
    for folder in gang.folders:
        child = os.fork()
        if child == 0:
            os.close(started)
            os.close(start_lock)
            _detach(folder, secrets=gang.secrets, net=net, report=report)
        os.waitpid(child, 0)
    os.close(report)
    answer = b""
    while True:
        piece = os.read(started, 65536)
        if not piece:
            break
        answer += piece
    told = answer.decode(errors="replace").splitlines()
    problems = [line for line in told if line != "ok"]
    if problems:
        return problems[0]
    return "" if len(told) == len(gang.folders) else "a shim ended before it had started"


def _detach(folder: str, *, secrets: Mapping[str, str], net: network.Network | None, report: int) -> NoReturn:
    """Fork once more, so that nobody but init is the shim's parent, and become the shim."""
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    code = 1
    try:
        os.dup2(os.open(os.path.join(folder, SHIM_LOG), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), 2)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1):
            os.dup2(null, descriptor)
        linux.name_process("danlu-shim")
        try:
            shim = Shim(folder, secrets=secrets, net=net)
        except AlreadyStarted:
            os.write(report, b"ok\n")
            os._exit(0)
        except (OSError, TaskUnreadable) as error:
            os.write(report, f"{error}\n".encode())
            os._exit(1)
        os.write(report, b"ok\n")
        os.close(report)
        os.chdir("/")
        shim.run()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> int:
    start_lock = int(sys.argv[1])
    os.set_inheritable(start_lock, False)
    try:
        problem = start(gang_from_json(sys.stdin.read()), start_lock)
    except (OSError, TaskUnreadable) as error:
        problem = str(error)
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
