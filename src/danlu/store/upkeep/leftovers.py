"""What clean-up finds, and where it looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path

from danlu.store.logs.index import Logs
from danlu.store.objects.base import Objects
from danlu.store.objects.blobs import Blobs
from danlu.store.objects.uploads import Uploads
from danlu.store.sql.database import Database


class Kind(str, Enum):
    UPLOAD = "upload"
    """An upload without progress for a week."""

    PARTIAL = "partial file"
    """A partial file of a killed server."""

    BLOB = "blob"
    """Bytes that no job or artifact refers to, and that were not sent for two weeks."""

    PACK = "pack of blobs"
    """An object with the bytes of many blobs, of which half or more are not needed."""

    OLD_LOG = "old log"
    """The logs of an attempt that ended more than `log_days` days ago."""

    LOST_LOG = "log of a deleted job"


@dataclass(frozen=True, slots=True)
class Leftover:
    kind: Kind
    name: str
    size: int
    remove: Callable[[], None]


@dataclass(frozen=True)
class Places:
    """Databases, stores and folders that clean-up searches."""

    database: Database
    objects: Objects
    blobs: Blobs
    inner: Objects
    uploads: Uploads
    logs: Logs
    log_dir: Path
    partial_dirs: tuple[Path, ...]
    """Folders that contain partial files."""

    log_days: int
    now: Callable[[], datetime]
