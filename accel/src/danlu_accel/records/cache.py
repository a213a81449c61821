"""A cache folder that stays below a size: the copies that were used longest ago go first.

Any number of processes may share it. Which copy was used last is its file's time of change, which every use sets; one
that somebody else removes is fetched again by who needs it.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path


def note_use(path: Path) -> None:
    """Make this copy the one that was used last. Quiet when it is gone."""
    with suppress(FileNotFoundError):
        os.utime(path)


def make_room(root: Path, max_bytes: int, needed: Collection[Path]) -> list[Path]:
    """Remove copies until the cache below `root` holds at most `max_bytes`; return those that were removed.

    What is `needed` stays, also beyond the limit.
    """
    copies = []
    for path in root.glob("*/*/*"):
        try:
            found = path.stat()
        except FileNotFoundError:
            continue
        copies.append((found.st_mtime_ns, path, found.st_size))
    total = sum(size for _, _, size in copies)
    removed = []
    for _, path, size in sorted(copies):
        if total <= max_bytes:
            break
        if path in needed or path.name.startswith("."):  # one that is still being written
            continue
        path.unlink(missing_ok=True)
        removed.append(path)
        total -= size
    return removed
