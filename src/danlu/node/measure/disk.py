"""Measure the disk usage of a task: its folder, persistent folders, and deleted files that it holds open.

    python -I -S disk.py UID FOLDER [KEPT_FOLDER ...]      -> {"own": BYTES, "kept": BYTES, "problem": ""}

Only files of the user UID count; empty: all. The shim runs it beside the task, with the lowest priority. The job
controls the content of the folders: symlinks are not followed, other file systems are skipped, and folders nested
deeper than MAX_DEPTH are reported as a problem, because files could be hidden there.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from typing import Optional

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.supervise.processes import descendants, processes

MAX_DEPTH = 200
LEAST_BYTES = 1024
"""Minimum size to count for a file: empty ones need space too, and there can be millions."""

_BLOCK = 512
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class TooDeep(Exception):
    """Folders are nested too deep to be measured."""


class Measure:
    """Sums up sizes. A file with several hard links counts once."""

    def __init__(self, uid: Optional[int]) -> None:
        self._uid = uid
        self._seen: set[tuple[int, int]] = set()

    def folder(self, path: str) -> int:
        """Return the bytes in a folder. Raise TooDeep."""
        try:
            top = os.open(path, _FOLDER)
        except OSError:
            return 0
        try:
            return self._below(top, os.fstat(top).st_dev, depth=1)
        finally:
            os.close(top)

    def file(self, found: os.stat_result) -> int:
        if self._uid is not None and found.st_uid != self._uid:
            return 0
        if found.st_nlink != 1 and not stat.S_ISDIR(found.st_mode):
            if (found.st_dev, found.st_ino) in self._seen:
                return 0
            self._seen.add((found.st_dev, found.st_ino))
        return max(found.st_blocks * _BLOCK, LEAST_BYTES)

    def _below(self, folder: int, device: int, *, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise TooDeep
        total, folders = 0, []
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # deleted meanwhile
                    found = entry.stat(follow_symlinks=False)
                    total += self.file(found)
                    if stat.S_ISDIR(found.st_mode) and found.st_dev == device:
                        folders.append(entry.name)
        for name in folders:
            with contextlib.suppress(OSError):
                inner = os.open(name, _FOLDER, dir_fd=folder)
                try:
                    total += self._below(inner, device, depth=depth + 1)
                finally:
                    os.close(inner)
        return total


def open_without_name(pids: list[int], measure: Measure, device: int) -> int:
    """Return the bytes of deleted files that the processes hold open."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as files:
            for file in files:
                with contextlib.suppress(OSError):
                    found = os.stat(file.path)
                    if found.st_nlink == 0 and found.st_dev == device and stat.S_ISREG(found.st_mode):
                        total += measure.file(found)
    return total


def main(uid: str, own: str, *kept: str) -> None:
    os.nice(19)
    measure = Measure(int(uid) if uid else None)
    answer = {"own": 0, "kept": 0, "problem": ""}
    try:
        pids = descendants(os.getppid(), processes())
        answer["own"] = measure.folder(own) + open_without_name(pids, measure, os.stat(own).st_dev)
        answer["kept"] = sum(measure.folder(folder) for folder in kept)
    except TooDeep:
        answer["problem"] = f"folders are nested deeper than {MAX_DEPTH} levels"
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
