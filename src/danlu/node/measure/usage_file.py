"""Writes the usage file of a task. A full disk loses samples, nothing else."""

from __future__ import annotations

import contextlib
import os

from danlu.journal.usage import CELL, HEADER, MOST, Cell, Header, pack, pack_header, read_cells, thin
from danlu.node.supervise.records import USE


class UsageFile:
    def __init__(self, folder: str, *, every_seconds: float) -> None:
        """Create the file. Raise OSError when that fails."""
        self._path = os.path.join(folder, USE)
        self._header = Header(0, every_seconds)
        self._num_cells = 0
        self._file = -1
        self._begin([])

    def add(self, cell: Cell) -> None:
        try:
            if self._num_cells >= MOST:
                with open(self._path, "rb") as file:
                    cells = thin(list(read_cells(file.read())))
                self._header = self._header._replace(generation=self._header.generation + 1)
                self._begin(cells)
            written = os.write(self._file, pack(cell))
            if written < CELL.size:  # a partial cell would misalign all that follow
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
                return
        except OSError:
            return
        self._num_cells += 1

    def close(self) -> None:
        os.close(self._file)

    def _begin(self, cells: list[Cell]) -> None:
        """Atomically replace the file by one with these cells."""
        partial = f"{self._path}.partial"
        data = pack_header(self._header) + b"".join(map(pack, cells))
        file = os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            if os.write(file, data) < len(data):
                raise OSError(f"no room for {partial}")
            os.replace(partial, self._path)
        except OSError:
            os.close(file)
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise
        if self._file >= 0:
            os.close(self._file)
        self._file, self._num_cells = file, len(cells)


def read_usage(folder: str, generation: int, offset: int) -> tuple[int, int, bytes] | None:
    """Return generation, offset and the bytes from there; from the start when the file has a new generation."""
    try:
        with open(os.path.join(folder, USE), "rb") as file:
            head = file.read(HEADER.size)
            if len(head) < HEADER.size:
                return None
            found = int.from_bytes(head[8:12], "little")
            start = offset if found == generation else 0
            file.seek(start)
            return found, start, file.read()
    except FileNotFoundError:
        return None
