"""The file that tells a task about a stop, in addition to the signal: scripts can poll it."""

from __future__ import annotations

import contextlib
import json
import os
import time

from danlu.node.supervise.below import parent_below

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def leave_notice(folder: str, path: str, grace_seconds: float) -> None:
    """Write the file below the task's folder. Ignores errors, because the task gets the signal too.

    The job owns the parent folders and may have put symlinks there; none is followed.
    """
    text = json.dumps({"at": time.time(), "grace_seconds": grace_seconds})
    with contextlib.suppress(OSError), parent_below(folder, path) as (at, name):
        file = os.open(name, _NEW, 0o644, dir_fd=at)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)
