"""Bytes of an open file that are on their way: read where they must be, left to the kernel where they need not be."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Iterator

from danlu.transfer.errors import Changed, LocalProblem

BLOCK_BYTES = 1 << 20


class Stretch:
    """Some bytes of a file. The descriptor belongs to the caller, and stays open while this is in use."""

    def __init__(self, path: str, descriptor: int, begin: int, size: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._begin = begin
        self._size = size

    def __len__(self) -> int:
        return self._size

    def parts(self) -> Iterator[Stretch]:
        """The same in pieces, for those who count as they go."""
        for at in range(0, self._size, BLOCK_BYTES):
            size = min(BLOCK_BYTES, self._size - at)
            yield Stretch(self._path, self._descriptor, self._begin + at, size)

    def blocks(self) -> Iterator[bytes]:
        """Read exactly these bytes, also when the file has grown. Raise Changed when it shrank, and LocalProblem."""
        at = 0
        while at < self._size:
            try:
                block = os.pread(self._descriptor, min(BLOCK_BYTES, self._size - at), self._begin + at)
            except OSError as error:
                raise LocalProblem(self._path, error) from error
            if not block:
                raise Changed(self._path)
            at += len(block)
            yield block

    def send(self, sock: socket.socket) -> None:
        """Send them without bringing them into this process, where the system can. Raise OSError of the connection."""
        with io.FileIO(self._descriptor, "rb", closefd=False) as file:
            if sock.sendfile(file, self._begin, self._size) < self._size:
                raise Changed(self._path)
