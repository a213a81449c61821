"""The file by which a task learns that it was told to end, beside the signal: scripts look at it when it suits them."""

from __future__ import annotations

import contextlib
import json
import os
import time

from danlu.node.supervise.below import parent_below

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def leave_notice(folder: str, path: str, grace_seconds: float) -> None:
    """Write the file, which lies below the task's folder. Quiet when that cannot be: the signal says the same.

    The job owns the folders on the way and may have put links there; none is followed.
    """
    text = json.dumps({"at": time.time(), "grace_seconds": grace_seconds})
    with contextlib.suppress(OSError), parent_below(folder, path) as (at, name):
        file = os.open(name, _NEW, 0o644, dir_fd=at)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)
