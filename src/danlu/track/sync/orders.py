"""Orders that training processes leave for the companion: one file per run, in a folder that only this user can read.

/run/user/1000/danlu/9f2c41d07c55e0ab/      or /tmp/danlu-1000/...: one folder per server, settings and Python
  orders/JOURNAL.json                       a run to look after; removed when nothing is left to do for it
  companion.json                            the companion's process, while there is one
  lock                                      held by the companion
  companion.log

No key is written here: a companion inherits the environment of the process that started it, and other settings use
another folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from danlu.track.processes import Process, is_gone, this_process

ORDERS, COMPANION, LOCK = "orders", "companion.json", "lock"
PROJECT_FILE = ".danlu.yml"
_SETTINGS = ("HOME", "XDG_CONFIG_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR")
_NOT_SETTINGS = ("DANLU_RUNS_DIR", "DANLU_RANK")


class Order(NamedTuple):
    """A run to look after."""

    folder: str
    journal: str
    search: tuple[str, ...]
    """sys.path of the process, to find its packages."""


def home_of(environ: Mapping[str, str]) -> str:
    """Create and return the folder of orders for these settings. Raise OSError when it is not usable."""
    runtime = environ.get("XDG_RUNTIME_DIR")
    base = os.path.join(runtime, "danlu") if runtime and os.path.isdir(runtime) else _temporary()
    _make_private(base)
    home = os.path.join(base, _key(environ))
    _make_private(home)
    os.makedirs(os.path.join(home, ORDERS), exist_ok=True)
    return home


def give(home: str, order: Order) -> str:
    """Write an order atomically, and return its file."""
    name = os.path.basename(order.journal).partition(".")[0]
    path = os.path.join(home, ORDERS, f"{name}.json")
    _put(path, order._asdict())
    return path


def given(home: str) -> list[str]:
    """Return the files of all orders."""
    folder = os.path.join(home, ORDERS)
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".json")]
    except FileNotFoundError:
        return []


def read(path: str) -> Optional[Order]:
    """Return None when the order was removed or is invalid."""
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        return Order(str(values["folder"]), str(values["journal"]), tuple(str(one) for one in values["search"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def announce_companion(home: str) -> None:
    """Record that this process is the companion."""
    _put(os.path.join(home, COMPANION), this_process()._asdict())


def withdraw_companion(home: str) -> None:
    remove(os.path.join(home, COMPANION))


def companion_of(home: str) -> Optional[Process]:
    """Return the companion's process; None when there is none."""
    try:
        with open(os.path.join(home, COMPANION), encoding="utf-8") as file:
            process = Process(**json.load(file))
        return None if is_gone(process) else process
    except (OSError, ValueError, TypeError):
        return None


def _put(path: str, values: dict[str, Any]) -> None:
    partial = f"{path}.{os.getpid()}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(values, file)
    os.replace(partial, path)


def _temporary() -> str:
    return os.path.join(tempfile.gettempdir(), f"danlu-{os.getuid()}")


def _make_private(path: str) -> None:
    """Create a folder, and raise OSError unless only this user can access it: its parent may be writable by others."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    about = os.lstat(path)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise PermissionError(13, "it is not a folder that only this user can read", path)


def _key(environ: Mapping[str, str]) -> str:
    """Return a key that is equal for processes that can share a companion: same server, key, Python and PID
    namespace."""
    me = this_process()
    names = [name for name in environ if name.startswith("DANLU_")]
    settings = {name: environ[name] for name in (*names, *_SETTINGS) if name in environ and name not in _NOT_SETTINGS}
    if "DANLU_CONFIG" in settings:
        settings["DANLU_CONFIG"] = os.path.abspath(settings["DANLU_CONFIG"])
    here = os.path.dirname(os.path.abspath(__file__))
    parts = [sorted(settings.items()), _project_file(), here, sys.executable, me.boot_id, me.pid_space]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _project_file() -> str:
    """Return the path of the project file for this working directory, if any: it may name another server."""
    folder = os.path.abspath(os.curdir)
    while True:
        if os.path.exists(os.path.join(folder, PROJECT_FILE)):
            return os.path.join(folder, PROJECT_FILE)
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
