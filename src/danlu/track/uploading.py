"""`run.upload`: sync now, and wait for the result."""

from __future__ import annotations

import json
import math
import subprocess
from typing import Any, NamedTuple, Optional

from danlu.track.spawning import script
from danlu.track.values import MAX_TEXT, brief, is_true, text_of, to_number
from danlu.track.warn import warn_once

CONFLICTS = ("new", "skip", "error", "replace")
DEFAULT_SECONDS = 120.0
MAX_SECONDS = 1e6
"""Maximum of a timeout, which includes infinity: the system counts 32 bits of milliseconds."""


class Uploaded(NamedTuple):
    is_there: bool
    message: str
    """Why it is not on the server."""


def upload(
    run_folder: str, *, folder: Optional[str], make_folder: bool, conflict: str, timeout_seconds: float
) -> Uploaded:
    """Upload one run. Never raises."""
    word = str.__str__(conflict) if issubclass(type(conflict), str) else ""
    if word not in CONFLICTS:
        return Uploaded(False, f"conflict={brief(conflict)} is not known; known: {', '.join(CONFLICTS)}")
    wish = {"run": run_folder, "folder": folder, "make_folder": is_true(make_folder), "conflict": word}
    answer = order(wish, timeout_seconds)
    return Uploaded(bool(answer["is_there"]), str(answer["message"]))


def order(values: dict[str, Any], timeout_seconds: float) -> dict[str, Any]:
    """Run an operation in a separate process, which does not load the training's packages. Never raises.

    The result has `is_there`, and `message` when it is False.
    """
    seconds = _seconds(timeout_seconds)
    try:
        command = [*script("sync_now.py"), json.dumps(values)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        answer = json.loads(done.stdout)
        return {"is_there": bool(answer["is_there"]), "message": str(answer.get("message", "")), **answer}
    except subprocess.TimeoutExpired:
        message = f"it took longer than {seconds or 0:.0f} s; run `danlu sync` to continue"
    except Exception as error:  # also of a value that is no JSON, whose methods may raise anything
        message = f"the sync process could not be used: {text_of(error, MAX_TEXT)}"
    return {"is_there": False, "message": message}


def _seconds(given: Any) -> Optional[float]:
    """Return a timeout that the system takes; None for no limit."""
    if given is None:
        return None
    seconds = to_number(given)
    if seconds is None or math.isnan(seconds):
        warn_once("timeout", f"timeout_seconds is a number, not {brief(given)}; taken as {DEFAULT_SECONDS:.0f}")
        return DEFAULT_SECONDS
    return min(seconds, MAX_SECONDS)
