"""Starts the companion, and starts it again when it is gone before the run is over."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from typing import Callable

from danlu.track.warn import warn_once

MAX_STARTS = 5
PAUSE_SECONDS = 1.0


def start_companion(folder: str, journal_path: str, *, is_over: Callable[[], bool]) -> None:
    """Start it in a session of its own. Without it the run is written all the same."""
    order = json.dumps({"folder": folder, "journal": journal_path, "pid": os.getpid(), "path": sys.path})
    try:
        leash, child = _spawn(order)
    except OSError as error:
        warn_once("companion", f"no companion process ({error}); `danlu sync` will bring the run to the server")
        return
    threading.Thread(
        target=_look_after, args=(order, leash, child, is_over), name="danlu-companion", daemon=True
    ).start()


def script(name: str) -> list[str]:
    """The command line of a script in `sync`: nothing of the user's folder or variables gets into it."""
    return [sys.executable, "-I", os.path.join(os.path.dirname(os.path.abspath(__file__)), "sync", name)]


def _spawn(order: str) -> tuple[int, subprocess.Popen[bytes]]:
    """Return the end of a pipe that ends with the companion, and the process that makes it."""
    if not sys.executable:
        raise OSError(2, "this interpreter does not know its own path")
    leash, theirs = os.pipe()
    try:
        child = subprocess.Popen(
            [*script("companion.py"), order, str(theirs)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs],
            start_new_session=True,
        )
    except OSError:
        os.close(leash)
        raise
    finally:
        os.close(theirs)
    return leash, child


def _look_after(order: str, leash: int, child: subprocess.Popen[bytes], is_over: Callable[[], bool]) -> None:
    """Wait without waking up; the thread ends with the process."""
    for _ in range(MAX_STARTS):
        child.wait()  # it forks the companion and ends
        select.select([leash], [], [])
        os.close(leash)
        time.sleep(PAUSE_SECONDS)
        if is_over():
            return
        try:
            leash, child = _spawn(order)
        except OSError:
            return
