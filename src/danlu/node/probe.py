"""Test what this machine supports by trying it: finding a program does not tell whether namespaces are permitted.

python -I -S probe.py CGROUP_NAME       -> one JSON object
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from danlu.node.devices import find_devices
from danlu.node.image.tool import BUILT_IN, storage_options
from danlu.node.supervise import cgroup, image_root, network, overlay
from danlu.node.supervise.seccomp import build_filter
from danlu.node.supervise.way_out import PROGRAM, ClosedAddresses, open_way_out
from danlu.node.task import Overlay

TRY_SECONDS = 30
"""Time limit for one program. On a busy machine it takes seconds to start one."""

_TRY_BWRAP = (
    *("--unshare-pid", "--unshare-uts", "--unshare-ipc", "--die-with-parent", "--hostname", "probe"),
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/opt", "--cap-drop", "ALL"),
    *("--as-pid-1", "--", "/bin/sh", "-c", ":"),
)
_TRY_FILTER = 'exec 9< "$2" && exec "$1" --seccomp 9 --ro-bind / / -- /bin/sh -c :'


def try_everything(cgroup_name: str) -> dict[str, Any]:
    """Return what works and, for what does not, the error message of the machine."""
    bwrap = shutil.which("bwrap") or ""
    roots = cgroup.find_roots(cgroup_name)
    cgroup.remove_leftovers(roots)
    inventory = find_devices()
    return {
        "bwrap": bwrap,
        "sandbox_problem": _try([bwrap, *_TRY_BWRAP], None) if bwrap else "bubblewrap is not installed",
        "filter_problem": _try_filter(bwrap),
        "network_problem": _try_network(bwrap),
        "overlay_problem": _try_overlay(),
        "way_out": shutil.which(PROGRAM) or "",
        "way_out_problem": _try_way_out(),
        "cgroups": roots,
        **_try_images(),
        "devices": [device._asdict() for device in inventory.devices],
        "device_problems": inventory.problems,
    }


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _try_filter(bwrap: str) -> str:
    """Test whether system calls can be filtered."""
    machine = os.uname().machine
    program = build_filter(machine)
    if program is None:
        return f"no filter is known for {machine}"
    with tempfile.NamedTemporaryFile() as file:
        file.write(program)
        file.flush()
        return _try(["/bin/sh", "-c", _TRY_FILTER, "sh", bwrap, file.name], None) if bwrap else ""


def _try_network(bwrap: str) -> str:
    try:
        net = network.make_network(["10.88.0.1", "10.88.0.2"])
    except OSError as error:
        return str(error)
    # test as a task would use it: with a sandbox inside, if there is one
    return _try([bwrap, *_TRY_BWRAP] if bwrap else ["/bin/sh", "-c", ":"], net)


def _try_overlay() -> str:
    """Test whether networks of several nodes can be joined. The device is removed together with its namespace."""
    if os.geteuid() != 0:
        return "only root can join the networks of several machines"
    try:
        net = network.make_network([])
        overlay.join(net, Overlay(_random_id(), "127.0.0.1", ("127.0.0.2",)), addresses=["10.88.0.1"])
        os.close(net.net)
    except OSError as error:
        return str(error)
    return ""


def _random_id() -> int:
    return int.from_bytes(os.urandom(3), "big") or 1


def _try_way_out() -> str:
    program = shutil.which(PROGRAM)
    if program is None:
        return f"{PROGRAM} is not installed"
    try:
        os.close(open_way_out(network.make_network(["10.88.0.1"]), program, closed=ClosedAddresses("")))
    except OSError as error:
        return str(error)
    return ""


def _try_images() -> dict[str, Any]:
    """Find the program that can pull images and its options, or why jobs with an image cannot run here."""
    with tempfile.TemporaryDirectory() as folder:
        problem = image_root.why_not(folder)
    if problem is not None:
        return {"image_tool": "", "image_options": [], "image_problem": f"overlays cannot be mounted: {problem}"}
    tools = [path for path in map(shutil.which, ("podman", "docker")) if path is not None]
    # docker may be a client without a daemon
    tool = next((path for path in tools if not _try([path, "images", "--quiet"], None)), BUILT_IN)
    return {"image_tool": tool, "image_options": storage_options(tool), "image_problem": ""}


def _try(argv: list[str], net: network.Network | None) -> str:
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(said)
            if net is not None:
                network.enter(net)
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=TRY_SECONDS, check=False)
            if done.returncode != 0:
                os.write(say, done.stderr[:1000] or b"ended with %d" % done.returncode)
        except (OSError, subprocess.TimeoutExpired) as error:
            os.write(say, str(error).encode()[:1000])
        finally:
            os._exit(0)
    os.close(say)
    with os.fdopen(said, "rb") as file:
        problem = file.read().decode(errors="replace").strip()
    os.waitpid(child, 0)
    return problem


if __name__ == "__main__":
    print(json.dumps(try_everything(sys.argv[1])))
