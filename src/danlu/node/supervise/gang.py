"""Start the shims of an attempt's tasks on this machine, detached, and in a private network if the gang has addresses.

On failure the answer is one sentence; the caller must stop shims that have started by then.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NoReturn

from danlu.node.supervise import linux, network, overlay
from danlu.node.supervise.api_door import open_api_door
from danlu.node.supervise.records import SHIM_LOG
from danlu.node.supervise.shim import AlreadyStarted, Shim
from danlu.node.supervise.way_out import ClosedAddresses, open_way_out
from danlu.node.task import Gang, TaskUnreadable


def start(gang: Gang, own: Sequence[int]) -> str:
    """Start all shims; return an error message, or "". `own`: descriptors that the shims must not inherit."""
    net = network.make_network(list(gang.addresses)) if gang.addresses else None
    if net is not None and gang.overlay is not None:
        overlay.join(net, gang.overlay, addresses=gang.overlay_addresses)
    # shims inherit the leashes of both helpers and hold them open while they live
    closed = ClosedAddresses(gang.closed_file if gang.way_out else "")
    if net is not None and gang.way_out:
        open_way_out(net, gang.way_out, closed=closed)
    if net is not None and gang.forwarder:
        open_api_door(net, gang.forwarder)
    started, report = os.pipe2(os.O_CLOEXEC)
    for folder in gang.folders:
        child = os.fork()
        if child == 0:
            os.close(started)
            for descriptor in own:
                os.close(descriptor)
            _detach(folder, secrets=gang.secrets, net=net, closed=closed, report=report)
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


def _detach(
    folder: str, *, secrets: Mapping[str, str], net: network.Network | None, closed: ClosedAddresses, report: int
) -> NoReturn:
    """Fork again, so that the shim is adopted by the machine's init, and become the shim."""
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
            shim = Shim(folder, secrets=secrets, net=net, closed=closed)
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
