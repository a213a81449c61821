"""Writes to files at an offset."""

from __future__ import annotations

import errno
import os
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def write_at(path: Path, offset: int, data: bytes) -> None:
    """Write all data at `offset`; create the file if necessary. On a full disk a part may be written."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        view = memoryview(data)
        while view:
            written = os.pwrite(descriptor, view, offset)
            view, offset = view[written:], offset + written
    finally:
        os.close(descriptor)
