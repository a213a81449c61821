"""A cache folder that stays below a size: the copies that were used longest ago go first.

    <cache_dir>/<digest of the URL>/<digest of the index>/.danlu-cache.json   names the copies beside it

Any number of processes may share it. Which copy was used last is its file's time of change, which every use sets; one
that somebody else removes is fetched again by who needs it. What no such list names belongs to others: it is neither
counted nor removed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from danlu_accel.records.files import is_partial, remove_abandoned, write_whole

LIST = ".danlu-cache.json"


def list_copies(folder: Path, names: Collection[str]) -> None:
    """Say which files in a folder of the cache are copies, or will be."""
    write_whole(folder / LIST, [json.dumps({"copies": sorted(names)}).encode()])


def note_use(path: Path) -> None:
    """Make this copy the one that was used last. Quiet when it is gone."""
    with suppress(FileNotFoundError):
        os.utime(path)


def clean(root: Path) -> None:
    """Remove what processes that were killed left behind."""
    for path in root.glob(f"*/*/{LIST}"):
        remove_abandoned(path.parent)


def make_room(root: Path, max_bytes: int, needed: Collection[Path]) -> list[Path]:
    """Remove copies until the cache below `root` holds at most `max_bytes`; return those that were removed.

    What is `needed` stays, also beyond the limit.
    """
    clean(root)
    copies = []
    for path in _ours(root):
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
        if path in needed or is_partial(path):  # one that is still being written
            continue
        path.unlink(missing_ok=True)
        removed.append(path)
        total -= size
    return removed


def _ours(root: Path) -> Iterator[Path]:
    """Yield the copies in all folders of the cache, and what is still being written."""
    for path in root.glob(f"*/*/{LIST}"):
        try:
            names = json.loads(path.read_bytes())["copies"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # of somebody else, or just removed
        beside = {entry.name: entry for entry in path.parent.iterdir()}
        yield from (beside[name] for name in names if name in beside)
        yield from filter(is_partial, beside.values())
