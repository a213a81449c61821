"""Hands runs to the companion, starts it when there is none, and starts it again when it is gone too early."""

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
"""How long the end of the companion is waited for at a time; it is noticed at once."""


class _Handed(NamedTuple):
    home: str
    order: str
    is_over: Callable[[], bool]


_handed: list[_Handed] = []
_homes: set[str] = set()
"""All that this process has given orders to."""

_lock = threading.Lock()
_watcher: list[threading.Thread] = []
_children: list[tuple[str, subprocess.Popen[bytes]]] = []
"""For which folder of orders they are. They fork the companion and end."""


def hand_over(folder: str, journal_path: str, *, is_over: Callable[[], bool]) -> None:
    """Have a run looked after by the companion of this user. Without one the run is written all the same."""
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
    """At the end of the process: what is left to do is done by a companion, also if it was killed a moment ago."""
    for home in _homes:
        if orders.given(home) and orders.companion_of(home) is None and not _is_starting(home):
            with contextlib.suppress(OSError):
                _spawn(home)


def script(name: str) -> list[str]:
    """The command line of a script in `sync`: nothing of the user's folder or variables gets into it."""
    return [sys.executable, "-I", os.path.join(os.path.dirname(os.path.abspath(__file__)), "sync", name)]


def after_fork() -> None:
    """In a child: the runs are the parent's, and so is the thread."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    for kept in (_handed, _homes, _watcher, _children):
        kept.clear()


def _is_starting(home: str) -> bool:
    _children[:] = [one for one in _children if one[1].poll() is None]
    return any(place == home for place, _ in _children)


def _spawn(home: str) -> None:
    """Start a companion in a session of its own; it ends at once when there is one by now."""
    if not sys.executable:
        raise OSError(2, "this interpreter does not know its own path")
    child = subprocess.Popen(
        [*script("companion.py"), home],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _children.append((home, child))


def _watch() -> None:
    """Wait without waking up, for as long as there are runs. One thread of a process, however many runs it has."""
    starts = 0
    while starts < MAX_STARTS:
        for _, child in list(_children):
            child.wait()
        with _lock:
            _handed[:] = [one for one in _handed if os.path.exists(one.order) and not one.is_over()]
            if not _handed:
                _watcher.clear()  # with the same lock: who hands over the next one starts another thread
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
