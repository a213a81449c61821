"""Install the packages of an environment. Runs in a sandbox that shows no other environment of the node.

    python -I -S build.py UID        an Order on standard input

Packages run their own code while they are built, so this switches to an unprivileged user first. Tasks later see the
environment at the same path at which it was built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.codec import decode, parse
from danlu.node.environment.collect import LOCK
from danlu.node.environment.venv import look_further, look_into_layer_first, write_venv

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Order(NamedTuple):
    place: str
    inputs: str
    """Folder with the files that the installation needs."""

    name: str
    """The file in it that says what to install."""

    python: str
    version: str
    uv: str
    pip: str
    base: str
    own: tuple[str, ...]
    variables: Mapping[str, str]


def build(order: Order) -> int:
    """Return 0, or the exit code of the installer that failed."""
    scratch = os.path.join(order.place, ".tmp")
    inputs = os.path.join(scratch, "inputs")
    os.mkdir(scratch, 0o700)
    shutil.copytree(order.inputs, inputs)  # installers may write into the folder of a package that they build
    write_venv(order.place, python=order.python, version=order.version)
    for command in _commands(order, scratch):
        done = subprocess.run(
            command, cwd=inputs, env=_environment(order, scratch), stdin=subprocess.DEVNULL, check=False
        )
        if done.returncode != 0:
            return done.returncode
    look_into_layer_first(order.place, order.version)
    look_further(order.place, order.version, base=order.base, own=order.own, place=order.place)
    shutil.rmtree(scratch, ignore_errors=True)
    return 0


def _commands(order: Order, scratch: str) -> list[list[str]]:
    python = os.path.join(order.place, "bin", "python")
    if not order.uv:
        words = ["install", "--requirement", order.name, "--progress-bar", "off", "--no-warn-script-location"]
        return [[order.pip, "-m", "pip", "--python", python, *words]]
    install = [order.uv, "pip", "install", "--python", python, "--compile-bytecode", "--requirement"]
    if os.path.basename(order.name) != LOCK:
        return [[*install, order.name]]
    exported = os.path.join(scratch, "locked.txt")
    project = os.path.dirname(order.name) or "."
    words = ["--frozen", "--no-emit-project", "--no-dev", "--quiet", "--project", project, "--output-file", exported]
    return [[order.uv, "export", *words], [*install, exported]]


def _environment(order: Order, scratch: str) -> dict[str, str]:
    return {
        "PATH": f"{order.place}/bin:{PATH}",
        "LANG": "C.UTF-8",
        "HOME": scratch,
        "TMPDIR": scratch,
        "PYTHONUNBUFFERED": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_NO_CACHE_DIR": "1",
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        **order.variables,
        "UV_CACHE_DIR": os.path.join(scratch, "uv"),
    }


def main() -> int:
    (uid,) = sys.argv[1:]
    order = decode(Order, parse(sys.stdin.read()))
    os.umask(0o022)
    if uid:
        os.setgroups([])
        os.setgid(int(uid))
        os.setuid(int(uid))
    return build(order)


if __name__ == "__main__":
    sys.exit(main())
