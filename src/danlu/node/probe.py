"""Tries what this machine can do, once, for real: `which` does not know whether namespaces are allowed.

python -I -S probe.py CGROUP_NAME       -> one JSON object
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from danlu.node import cgroup, network
from danlu.node.way_out import PROGRAM, open_way_out

_TRY_BWRAP = (
    *("--unshare-pid", "--unshare-uts", "--unshare-ipc", "--die-with-parent", "--hostname", "probe"),
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/opt", "--cap-drop", "ALL"),
    *("--as-pid-1", "--", "/bin/sh", "-c", ":"),
)


def try_everything(cgroup_name: str) -> dict[str, Any]:
    """Return what works, and for what does not, the machine's own words."""
    bwrap = shutil.which("bwrap") or ""
    roots = cgroup.find_roots(cgroup_name)
    cgroup.remove_leftovers(roots)
    return {
        "bwrap": bwrap,
        "sandbox_problem": _try([bwrap, *_TRY_BWRAP], None) if bwrap else "bubblewrap is not installed",
        "network_problem": _try_network(bwrap),
        "way_out": shutil.which(PROGRAM) or "",
        "way_out_problem": _try_way_out(),
        "cgroups": roots,
    }


def find_devices() -> list[tuple[str, str | None, int]]:
    """Return (type, model, id) of the accelerators that the kernel shows."""
    found: list[tuple[str, str | None, int]] = []
    names = sorted(os.listdir("/dev"))
    for name in names:
        matched = re.fullmatch(r"(nvidia|davinci)(\d+)", name)
        if matched and matched[1] == "nvidia":
            found.append(("gpu", _nvidia_model(int(matched[2])), int(matched[2])))
        elif matched:
            found.append(("npu", None, int(matched[2])))
    return found


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _try_network(bwrap: str) -> str:
    try:
        net = network.make_network(["10.88.0.1", "10.88.0.2"])
    except OSError as error:
        return str(error)
    # entered as a task would: with a sandbox inside, when there is one
    return _try([bwrap, *_TRY_BWRAP] if bwrap else ["/bin/sh", "-c", ":"], net)


def _try_way_out() -> str:
    program = shutil.which(PROGRAM)
    if program is None:
        return f"{PROGRAM} is not installed"
    try:
        os.close(open_way_out(network.make_network(["10.88.0.1"]), program))
    except OSError as error:
        return str(error)
    return ""


def _try(argv: list[str], net: network.Network | None) -> str:
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(said)
            if net is not None:
                network.enter(net)
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
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


def _nvidia_model(number: int) -> str | None:
    try:
        for name in os.listdir("/proc/driver/nvidia/gpus"):
            with open(f"/proc/driver/nvidia/gpus/{name}/information") as file:
                fields = dict(line.split(":", 1) for line in file if ":" in line)
            if int(fields.get("Device Minor", "-1")) == number:
                return fields.get("Model", "").strip().lower().replace(" ", "-") or None
    except (OSError, ValueError):
        return None
    return None


if __name__ == "__main__":
    print(json.dumps(try_everything(sys.argv[1])))
