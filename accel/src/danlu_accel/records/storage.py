"""Where shards are stored: in a local folder, or behind a URL with a local cache.

storage.prepare(file) -> folder     make the index available in this folder
storage.use(shards, forget)         announce the shards; calls forget(number) when the copy of one is removed
storage.follow(order, position)     start to fetch in this order; goes_on: continue with the next epoch
storage.wait_for(numbers, epoch)    wait until these shards are in the folder; None: the epoch of `follow`
storage.fetch_again(number)         replace a damaged copy of a shard; False if there is no other copy
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from danlu_accel.records.files import Name
from danlu_accel.records.index import Shard
from danlu_accel.records.order import Order

NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "gpfs", "9p", "beegfs", "glusterfs"})
NETWORK_READERS = 16


Forget = Callable[[int], None]


class Storage(Protocol):
    is_remote: bool

    def prepare(self, file: Name) -> Path: ...
    def use(self, shards: Sequence[Shard], forget: Forget) -> None: ...
    def follow(self, order: Order, position: int, *, goes_on: bool = False) -> None: ...
    def wait_for(self, numbers: Collection[int], epoch: int | None = None) -> None: ...
    def fetch_again(self, number: int) -> bool: ...
    def read_ahead(self, folder: Path) -> int: ...
    def describe(self) -> str: ...
    def close(self) -> None: ...


def storage_for(place: Name, cache_dir: Name | None, cache_bytes: int | None = None) -> Storage:
    """Return the storage behind a folder name or a URL."""
    if "://" in str(place):
        from danlu_accel.records.remote import RemoteStorage

        return RemoteStorage(str(place), cache_dir, cache_bytes)
    return LocalStorage(Path(place))


class LocalStorage:
    is_remote = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self, file: Name) -> Path:  # noqa: ARG002
        return self._folder

    def use(self, shards: Sequence[Shard], forget: Forget) -> None:
        pass

    def follow(self, order: Order, position: int, *, goes_on: bool = False) -> None:
        pass

    def wait_for(self, numbers: Collection[int], epoch: int | None = None) -> None:
        pass

    def fetch_again(self, number: int) -> bool:  # noqa: ARG002
        """A local shard has no other copy."""
        return False

    def read_ahead(self, folder: Path) -> int:
        """Separate reader threads help on network file systems; on a local disk they only add overhead."""
        kind = file_system_of(folder)
        return NETWORK_READERS if kind in NETWORK_FILE_SYSTEMS or kind.startswith("fuse") else 0

    def describe(self) -> str:
        return f"in {str(self._folder)!r}"

    def close(self) -> None:
        pass


def file_system_of(folder: Path) -> str:
    """Return the type of the file system that holds a folder, "" if it cannot be determined."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return ""
    path = os.path.realpath(folder)
    best, kind = "", ""
    for line in mounts:
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4].encode().decode("unicode_escape")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, after.split(" ")[0]
    return kind
