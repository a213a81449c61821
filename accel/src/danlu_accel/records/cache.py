"""A cache folder with a size limit: the least recently used copies are removed first.

    <cache_dir>/<digest of the URL>/<digest of the index>/.danlu-cache.json   lists the copies in its folder

Any number of processes may share it. Each use sets the modification time of a copy. A process that misses a copy
because another one removed it fetches it again. Files that no such list names are neither counted nor removed.
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
    """Write the list of files in a folder of the cache that are, or will be, copies."""
    write_whole(folder / LIST, [json.dumps({"copies": sorted(names)}).encode()])


def note_use(path: Path) -> None:
    """Mark this copy as the most recently used. Does nothing if it was removed."""
    with suppress(FileNotFoundError):
        os.utime(path)


def clean(root: Path) -> None:
    """Remove partial files of killed processes."""
    for path in root.glob(f"*/*/{LIST}"):
        remove_abandoned(path.parent)


def make_room(root: Path, max_bytes: int, needed: Collection[Path]) -> list[Path]:
    """Remove copies until the cache below `root` holds at most `max_bytes`; return the removed ones.

    Copies in `needed` are kept, even beyond the limit.
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
        if path in needed or is_partial(path):  # still being written
            continue
        path.unlink(missing_ok=True)
        removed.append(path)
        total -= size
    return removed


def _ours(root: Path) -> Iterator[Path]:
    """Yield the copies in all folders of the cache, including partial ones."""
    for path in root.glob(f"*/*/{LIST}"):
        try:
            names = json.loads(path.read_bytes())["copies"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # not ours, or just removed
        beside = {entry.name: entry for entry in path.parent.iterdir()}
        yield from (beside[name] for name in names if name in beside)
        yield from filter(is_partial, beside.values())
