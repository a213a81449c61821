"""`run.upload`: sync now, and wait for the answer."""

from __future__ import annotations

import json
import subprocess
from typing import NamedTuple, Optional

from danlu.track.spawning import script

CONFLICTS = ("new", "skip", "error", "replace")


class Uploaded(NamedTuple):
    is_there: bool
    message: str
    """Why it is not there."""


def upload(
    run_folder: str, *, folder: Optional[str], make_folder: bool, conflict: str, timeout_seconds: float
) -> Uploaded:
    """Bring one run to the server. Never raises."""
    if conflict not in CONFLICTS:
        return Uploaded(False, f"conflict={conflict!r} is not known; known: {', '.join(CONFLICTS)}")
    order = {"run": run_folder, "folder": folder, "make_folder": make_folder, "conflict": conflict}
    command = [*script("sync_now.py"), json.dumps(order)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_seconds, check=False)
        answer = json.loads(done.stdout)
        return Uploaded(bool(answer["is_there"]), str(answer["message"]))
    except subprocess.TimeoutExpired:
        return Uploaded(False, f"it took longer than {timeout_seconds:.0f} s; `danlu sync` goes on with it")
    except (OSError, ValueError, KeyError) as error:
        return Uploaded(False, f"the sync process could not be used: {error}")
