"""A disk that a test can fill."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


class SmallDisk:
    """A mounted file system that is small enough to be filled quickly."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self, *, leave_bytes: int = 0) -> None:
        """Fill the disk except for `leave_bytes`."""
        with self._ballast.open("ab", buffering=0) as file:
            for piece_bytes in (1 << 20, 4096):
                with suppress(OSError):
                    while self.free_bytes() > leave_bytes:
                        file.write(bytes(min(piece_bytes, max(4096, self.free_bytes() - leave_bytes))))

    def empty(self) -> None:
        """Free the space again."""
        self._ballast.unlink()

    def free_bytes(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize
