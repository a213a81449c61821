"""Hand runs over to the companion. Start it when there is none, and restart it when it dies."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from typing import Callable, NamedTuple

from danlu.track.processes import Watch
from danlu.track.sync import orders
from danlu.track.warn import warn_once

MAX_STARTS = 5
PAUSE_SECONDS = 1.0
LOOK_SECONDS = 600.0
"""Maximum time of a single wait for the companion; its end is noticed at once."""


class _Handed(NamedTuple):
    home: str
    order: str
    is_over: Callable[[], bool]


_handed: list[_Handed] = []
_homes: set[str] = set()
"""Folders of orders to which this process has written."""

_lock = threading.Lock()
_watcher: list[threading.Thread] = []
_children: list[tuple[str, subprocess.Popen[bytes]]] = []
"""(folder of orders, process) of starting companions. They fork the companion and exit."""


def hand_over(folder: str, journal_path: str, *, is_over: Callable[[], bool]) -> None:
    """Have the user's companion look after a run. Without one the run is still written."""
    try:
        home = orders.home_of(os.environ)
        order = orders.give(home, orders.Order(folder, journal_path, tuple(sys.path)))
        if orders.companion_of(home) is None and not _is_starting(home):
            _spawn(home)
    except OSError as error:
        warn_once("companion", f"no companion process ({error}); `danlu sync` will bring the run to the server")
        return
    with _lock:
        _homes.add(home)
        _handed.append(_Handed(home, order, is_over))
        if not _watcher:
            _watcher.append(threading.Thread(target=_watch, name="danlu-companion", daemon=True))
            _watcher[0].start()


def leave() -> None:
    """At the end of the process: start a companion for open orders if there is none, for example because it was
    killed."""
    for home in _homes:
        if orders.given(home) and orders.companion_of(home) is None and not _is_starting(home):
            with contextlib.suppress(OSError):
                _spawn(home)


def script(name: str) -> list[str]:
    """Return the command line of a script in `sync`, isolated from the user's folder and variables."""
    return [sys.executable, "-I", os.path.join(os.path.dirname(os.path.abspath(__file__)), "sync", name)]


def after_fork() -> None:
    """In a forked child: runs and thread belong to the parent."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    for kept in (_handed, _homes, _watcher, _children):
        kept.clear()


def _is_starting(home: str) -> bool:
    _children[:] = [one for one in _children if one[1].poll() is None]
    return any(place == home for place, _ in _children)


def _spawn(home: str) -> None:
    """Start a companion in its own session; it exits at once if another one exists by then."""
    if not sys.executable:
        raise OSError(2, "sys.executable is not set")
    child = subprocess.Popen(
        [*script("companion.py"), home],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _children.append((home, child))


def _watch() -> None:
    """Wait for the companion without polling, while there are runs. One thread per process, for any number of runs."""
    starts = 0
    while starts < MAX_STARTS:
        for _, child in list(_children):
            child.wait()
        with _lock:
            _handed[:] = [one for one in _handed if os.path.exists(one.order) and not one.is_over()]
            if not _handed:
                _watcher.clear()  # with the same lock, so that the next `hand_over` starts another thread
                return
            home = _handed[0].home
        process = orders.companion_of(home)
        if process is not None:
            with Watch(process) as watch:
                watch.wait(LOOK_SECONDS)
            continue
        time.sleep(PAUSE_SECONDS)
        if orders.companion_of(home) is not None:
            continue
        starts += 1
        try:
            _spawn(home)
        except OSError:
            break
    with _lock:
        _watcher.clear()
