"""The environments that a node keeps.

    <folder>/<project>/<key>          its files, complete once the record exists
    <folder>/<project>/<key>.json     the record: packages, size; its mtime is the last use
    <folder>/<project>/<key>.build    locked during a build
    <folder>/<project>/<key>.use      locked by every task that uses it (shared), and for removal (exclusive)

The folders belong to the user who runs the shims. The content of an environment was written by a build, which ran under
a uid of its project and saw nothing else here.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

RECORD, BUILD, USE = ".json", ".build", ".use"
_ENDING = ".dist-info"
MAX_PACKAGES = 1000
"""Maximum number of packages in a record."""


class Kept(NamedTuple):
    """A complete environment."""

    project_id: int
    key: str
    size_bytes: int
    python: str
    packages: tuple[str, ...]
    """Each as name==version."""

    made_at: float
    used_at: float


def list_kept(folder: str) -> list[Kept]:
    """Return all environments, most recently used first."""
    found = []
    with contextlib.suppress(OSError):
        for project in os.listdir(folder):
            for name in os.listdir(os.path.join(folder, project)) if project.isdigit() else ():
                one = _read(os.path.join(folder, project, name)) if name.endswith(RECORD) else None
                if one is not None:
                    found.append(one)
    return sorted(found, key=lambda one: -one.used_at)


def write_record(path: str, *, project_id: int, python: str) -> Kept:
    """Mark the environment at this path as complete."""
    size, packages = _measure(path)
    now = time.time()
    values = {
        "project_id": project_id,
        "size_bytes": size,
        "python": python,
        "packages": sorted(packages)[:MAX_PACKAGES],
        "made_at": now,
    }
    fresh = f"{path}{RECORD}.new"
    with open(fresh, "w") as file:
        json.dump(values, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, f"{path}{RECORD}")
    found = _read(f"{path}{RECORD}")
    assert found is not None
    return found


def hold(path: str) -> Optional[int]:
    """Keep the environment from being removed until the returned descriptor is closed. None when it does not exist."""
    descriptor = os.open(f"{path}{USE}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    with contextlib.suppress(OSError):
        os.utime(f"{path}{RECORD}")
        return descriptor
    os.close(descriptor)
    return None


@contextlib.contextmanager
def building(path: str) -> Iterator[None]:
    """Hold the lock for building it."""
    descriptor = os.open(f"{path}{BUILD}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def clean(folder: str, max_bytes: int) -> list[Kept]:
    """Remove the least recently used environments until the rest fits. Environments in use stay."""
    kept = list_kept(folder)
    total = sum(one.size_bytes for one in kept)
    removed = []
    for one in reversed(kept):
        if total <= max_bytes:
            break
        if remove(os.path.join(folder, str(one.project_id), one.key)):
            total -= one.size_bytes
            removed.append(one)
    return removed


def remove(path: str) -> bool:
    """Remove an environment unless a task uses it. Other processes see it complete or not at all."""
    gone = f"{path}.gone"
    descriptor = os.open(f"{path}{USE}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{RECORD}")
        shutil.rmtree(gone, ignore_errors=True)  # left by a process that was killed
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, gone)
        shutil.rmtree(gone, ignore_errors=True)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _read(path: str) -> Optional[Kept]:
    try:
        with open(path) as file:
            found: dict[str, Any] = json.load(file)
        return Kept(
            project_id=int(found["project_id"]),
            key=os.path.basename(path)[: -len(RECORD)],
            size_bytes=int(found["size_bytes"]),
            python=str(found["python"]),
            packages=tuple(map(str, found["packages"])),
            made_at=float(found["made_at"]),
            used_at=os.stat(path).st_mtime,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # removed just now, or written by another version


def _measure(path: str) -> tuple[int, list[str]]:
    """Return bytes on disk and the packages."""
    size, packages, seen = 0, [], set()
    for _, folders, names, at in os.fwalk(path):
        packages += [
            "==".join(name[: -len(_ENDING)].rsplit("-", 1))[:200] for name in folders if name.endswith(_ENDING)
        ]
        for name in names:
            found = os.stat(name, dir_fd=at, follow_symlinks=False)
            if found.st_ino not in seen:
                seen.add(found.st_ino)
                size += found.st_blocks * 512
    return size, packages
