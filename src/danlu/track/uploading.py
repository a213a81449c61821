"""`run.upload`: sync now, and wait for the result."""

from __future__ import annotations

import json
import subprocess
from typing import Any, NamedTuple, Optional

from danlu.track.spawning import script

CONFLICTS = ("new", "skip", "error", "replace")


class Uploaded(NamedTuple):
    is_there: bool
    message: str
    """Why it is not on the server."""


def upload(
    run_folder: str, *, folder: Optional[str], make_folder: bool, conflict: str, timeout_seconds: float
) -> Uploaded:
    """Upload one run. Never raises."""
    if conflict not in CONFLICTS:
        return Uploaded(False, f"conflict={conflict!r} is not known; known: {', '.join(CONFLICTS)}")
    wish = {"run": run_folder, "folder": folder, "make_folder": make_folder, "conflict": conflict}
    answer = order(wish, timeout_seconds)
    return Uploaded(bool(answer["is_there"]), str(answer["message"]))


def order(values: dict[str, Any], timeout_seconds: float) -> dict[str, Any]:
    """Run an operation in a separate process, which does not load the training's packages. Never raises.

    The result has `is_there`, and `message` when it is False.
    """
    command = [*script("sync_now.py"), json.dumps(values)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_seconds, check=False)
        answer = json.loads(done.stdout)
        return {"is_there": bool(answer["is_there"]), "message": str(answer.get("message", "")), **answer}
    except subprocess.TimeoutExpired:
        message = f"it took longer than {timeout_seconds:.0f} s; run `danlu sync` to continue"
    except (OSError, ValueError, KeyError) as error:
        message = f"the sync process could not be used: {error}"
    return {"is_there": False, "message": message}
