"""Starts the shims of an attempt's tasks on this machine, detached, and ends. Says nothing when all is well.

    python -I -S gang.py START_LOCK_FD < request

The request is one JSON object:

    {"folders": [...], "secrets": {...}, "addresses": ["10.88.0.1", ...], "way_out": "/usr/bin/slirp4netns"}

With addresses the tasks get a network of their own. An incomplete request (its writer died) starts nothing. On failure
one sentence goes to standard error and the exit code is 1; shims that stand by then are for the caller to stop.
"""

from __future__ import annotations

import json
import os
import sys
from typing import NoReturn

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.supervise import linux, network
from danlu.node.supervise.records import SHIM_LOG
from danlu.node.supervise.shim import AlreadyStarted, Shim
from danlu.node.supervise.way_out import open_way_out


def start(folders: list[str], *, secrets: dict[str, str], addresses: list[str], way_out: str, start_lock: int) -> str:
    """Start all shims; return what went wrong, or nothing."""
    net = network.make_network(addresses) if addresses else None
    if net is not None and way_out:
        open_way_out(net, way_out)  # the shims inherit its leash, and hold it as long as they live
    standing, stands = os.pipe2(os.O_CLOEXEC)
    for folder in folders:
        child = os.fork()
        if child == 0:
            os.close(standing)
            os.close(start_lock)
            _detach(folder, secrets=secrets, net=net, stands=stands)
        os.waitpid(child, 0)
    os.close(stands)
    answer = b""
    while True:
        piece = os.read(standing, 65536)
        if not piece:
            break
        answer += piece
    told = answer.decode(errors="replace").splitlines()
    problems = [line for line in told if line != "ok"]
    if problems:
        return problems[0]
    return "" if len(told) == len(folders) else "a shim ended before it stood"


def _detach(folder: str, *, secrets: dict[str, str], net: network.Network | None, stands: int) -> NoReturn:
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
            os.write(stands, b"ok\n")
            os._exit(0)
        except OSError as error:
            os.write(stands, f"{error}\n".encode())
            os._exit(1)
        os.write(stands, b"ok\n")
        os.close(stands)
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
        request = json.loads(sys.stdin.read())
    except ValueError:
        return 1
    try:
        problem = start(
            request["folders"],
            secrets=request["secrets"],
            addresses=request["addresses"],
            way_out=request["way_out"],
            start_lock=start_lock,
        )
    except OSError as error:
        problem = str(error)
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
