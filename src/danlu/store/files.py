"""Writing into files that grow piece by piece."""

from __future__ import annotations

import errno
import os
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def write_at(path: Path, offset: int, data: bytes) -> None:
    """Write all of it at `offset`, over what may be there. Makes the file. Without room, part of it is written."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        view = memoryview(data)
        while view:
            written = os.pwrite(descriptor, view, offset)
            view, offset = view[written:], offset + written
    finally:
        os.close(descriptor)
