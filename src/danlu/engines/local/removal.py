"""Removing what jobs left. They may leave millions of files, or folders nested thousands deep.

A folder is moved aside, which takes no time, and removed by a process of its own, which nobody waits for.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path

TRASH = ".trash"


def trash(work_dir: Path) -> Path:
    """Where folders wait to be removed. On the same file system as those of tasks."""
    return work_dir.absolute() / TRASH


def move_away(path: Path, to: Path) -> None:
    """Move a folder aside. Quiet when it does not exist. Raise OSError when it cannot be moved."""
    if not path.is_dir():
        return
    to.mkdir(mode=0o700, exist_ok=True)
    os.rename(path, to / uuid.uuid4().hex)


def empty(folder: Path) -> None:
    """Begin to remove everything that was moved there; return at once."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    # `rm` goes down by itself where a path would be too long; a folder without rights is opened first
    line = 'cd "$1" || exit; rm -rf -- * 2>/dev/null && exit; chmod -R u+rwx -- * 2>/dev/null; rm -rf -- *'
    argv = ["/bin/sh", "-c", f"({line}) &", "sh", str(folder)]
    subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=False,
    )
