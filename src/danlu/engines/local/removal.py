"""Delete what jobs leave behind: possibly millions of files, or folders nested thousands deep.

A folder is renamed, which takes no time, and deleted by a separate process in the background.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path

TRASH = ".trash"


def trash(work_dir: Path) -> Path:
    """Where folders wait for deletion; on the same file system as the folders of tasks."""
    return work_dir.absolute() / TRASH


def move_away(path: Path, to: Path) -> None:
    """Move a folder into `to`. Does nothing when it does not exist. Raise OSError when it cannot be moved."""
    if not path.is_dir():
        return
    to.mkdir(mode=0o700, exist_ok=True)
    os.rename(path, to / uuid.uuid4().hex)


def empty(folder: Path) -> None:
    """Start to delete everything in the folder; return at once."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    # `rm` copes with paths that are too long for the kernel; folders without permissions are opened first
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
