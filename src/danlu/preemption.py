"""Inside a job: has it been told to end? Standard library only, and cheap enough to ask at every step.

while step < num_steps:
    train_one_step()
    if danlu.preempted():
        save_checkpoint()
        break
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

_STOP_FILE = "DANLU_STOP_FILE"
_told_in: set[int] = set()
_watched_in: set[int] = set()


def preempted() -> bool:
    """Whether this attempt was told to end: to make room for another job, or because somebody paused or stopped it.

    From then on there is the job's `grace` to save what is needed to go on, in `DANLU_CHECKPOINT_DIR`.
    The first call takes over SIGTERM, which would end the process at once, unless the script handles it itself.
    Outside of a job this is always False.
    """
    path = os.environ.get(_STOP_FILE)
    if not path:
        return False
    process = os.getpid()
    if process not in _watched_in:
        _watched_in.add(process)
        _take_over_sigterm()
    return process in _told_in or os.path.exists(path)


def _take_over_sigterm() -> None:
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_sigterm)


def _on_sigterm(number: int, _frame: Any) -> None:
    process = os.getpid()
    if process in _watched_in:
        _told_in.add(process)
        return
    # a child that was forked later and never asks, such as one that loads data: it ends as it would have
    signal.signal(number, signal.SIG_DFL)
    os.kill(process, number)
