"""The unpacked images that a node keeps.

<cache>/<id>/rootfs         its files; the folder is complete or does not exist
<cache>/<id>/config.json    {"env": {...}}
<cache>/<id>.json           {"size_bytes": ...}; its mtime is the last use
<cache>/<id>.use            locked by every task that uses it (shared), and for removal (exclusive)
<cache>/<id>.private        exists when it was pulled with a password: every job needs valid credentials
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from typing import NamedTuple

from danlu.node.environment.kept import RECORD, USE, remove

ROOT, CONFIG, PRIVATE = "rootfs", "config.json", ".private"


class KeptImage(NamedTuple):
    path: str
    size_bytes: int
    used_at: float


@contextlib.contextmanager
def in_use(path: str) -> Iterator[None]:
    """Keep an image at this path, existing or not yet, from being removed."""
    descriptor = os.open(f"{path}{USE}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def note_use(path: str) -> None:
    """Record the time of use, and the size if there is no record yet."""
    if os.path.exists(f"{path}{RECORD}"):
        os.utime(f"{path}{RECORD}")
        return
    fresh = f"{path}{RECORD}.new"
    with open(fresh, "w") as file:
        json.dump({"size_bytes": _size_of(path)}, file)
    os.replace(fresh, f"{path}{RECORD}")


def is_private(cache: str, number: str) -> bool:
    """Also checks for the mark of earlier versions, in the image's folder."""
    return any(os.path.exists(os.path.join(cache, path)) for path in (f"{number}{PRIVATE}", f"{number}/private"))


def mark_private(cache: str, number: str) -> None:
    with open(os.path.join(cache, f"{number}{PRIVATE}"), "w"):
        pass


def clean(cache: str, max_bytes: int) -> None:
    """Remove the least recently used images until the rest fits. Images in use stay."""
    kept = list_images(cache)
    total = sum(one.size_bytes for one in kept)
    for one in reversed(kept):
        if total <= max_bytes:
            return
        if remove(one.path):
            total -= one.size_bytes


def list_images(cache: str) -> list[KeptImage]:
    """Return all unpacked images, most recently used first."""
    found = []
    for name in os.listdir(cache):
        if not name.endswith(RECORD):
            continue
        path = os.path.join(cache, name)
        with contextlib.suppress(OSError, ValueError, KeyError), open(path) as file:  # removed just now
            size = int(json.load(file)["size_bytes"])
            found.append(KeptImage(path[: -len(RECORD)], size, os.fstat(file.fileno()).st_mtime))
    return sorted(found, key=lambda one: -one.used_at)


def _size_of(path: str) -> int:
    """Bytes on disk."""
    size, seen = 0, set()
    for _, _, names, at in os.fwalk(path):
        for name in names:
            found = os.stat(name, dir_fd=at, follow_symlinks=False)
            if found.st_ino not in seen:
                seen.add(found.st_ino)
                size += found.st_blocks * 512
    return size
