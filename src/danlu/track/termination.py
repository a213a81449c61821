"""Detect that a process was terminated: SIGTERM still ends it at once, but leaves a trace in a file.

Python's `faulthandler` writes the stack inside the signal handler, and then passes the signal on. A handler written in
Python would only run after the training's C code returns.

.danlu/runs/.terminated-4711-88213       pid and start time; empty until the signal arrives
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import signal
from typing import Optional

from danlu.track.processes import Process, this_process

_OWN = os.path.dirname(os.path.abspath(__file__))
_open: list[tuple[str, int]] = []


def leave_trace(run_folder: str) -> None:
    """Leave traces until `stop`. Does nothing when the process handles the signal itself, or leaves traces already."""
    if _open or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    path = trace_of(run_folder, this_process())
    with contextlib.suppress(OSError, RuntimeError, ValueError):  # then only the reason of its end is unknown
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        _open.append((path, descriptor))
        faulthandler.register(signal.SIGTERM, file=descriptor, all_threads=False, chain=True)


def stop(*, is_child: bool = False) -> None:
    """Remove the empty file when there was no signal. A forked child leaves the file to its parent."""
    for path, descriptor in _open:
        faulthandler.unregister(signal.SIGTERM)
        os.close(descriptor)
        if not is_child:
            with contextlib.suppress(OSError):
                os.unlink(path)
    _open.clear()


def trace_of(run_folder: str, process: Process) -> str:
    """Return the file of a process, next to the folders of its runs."""
    return os.path.join(os.path.dirname(run_folder), f".terminated-{process.pid}-{process.started}")


def read_trace(run_folder: str, process: Process) -> Optional[str]:
    """Describe how an ended process was terminated; None when it was not, as far as known."""
    try:
        with open(trace_of(run_folder, process), encoding="utf-8", errors="replace") as file:
            text = file.read(16_384)
    except OSError:
        return None
    if not text:
        return None
    places = re.findall(r'File "([^"]*)", line (\d+) in (\S+)', text)  # the innermost frame comes first
    theirs = [place for place in places if not place[0].startswith(_OWN)] or places
    where = f", in {theirs[0][2]} ({os.path.basename(theirs[0][0])}, line {theirs[0][1]})" if theirs else ""
    return f"SIGTERM: the process was told to end{where}"
