"""`mox.file.File`: an open file, local or in the store. `flush` and `close` store what was written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any, Optional

from moxing.file.plain import exists, put_bytes
from moxing.file.remote import client, is_remote, store_path, translated


class File:
    """Works on a local copy of the object; `name` and `mode` are as given."""

    def __init__(self, name: str, mode: str = "r", encoding: Optional[str] = None) -> None:
        self.name, self.mode = name, mode
        self._copy = ""
        self._is_changed = False
        path = name
        if is_remote(name):
            descriptor, self._copy = tempfile.mkstemp(prefix="moxing-")
            os.close(descriptor)
            path = self._copy
            try:
                self._fetch()
            except BaseException:
                os.unlink(self._copy)
                raise
        text_encoding = None if "b" in mode else encoding or "utf-8"
        chosen = mode.replace("x", "w") if self._copy else mode
        self._file: IO[Any] = open(path, chosen, encoding=text_encoding)  # noqa: SIM115  closed by close
        self._is_changed = any(sign in mode for sign in "wx")

    @property
    def closed(self) -> bool:
        return self._file.closed

    def read(self, size: int = -1) -> Any:
        return self._file.read(size)

    def readline(self, size: int = -1) -> Any:
        return self._file.readline(size)

    def readlines(self) -> list[Any]:
        return self._file.readlines()

    def write(self, content: Any) -> int:
        self._is_changed = True
        return self._file.write(content)

    def writelines(self, lines: Any) -> None:
        self._is_changed = True
        self._file.writelines(lines)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return self._file.readable()

    def writable(self) -> bool:
        return self._file.writable()

    def seekable(self) -> bool:
        return self._file.seekable()

    def size(self) -> int:
        self._file.flush()
        return os.path.getsize(self._copy or self.name)

    def flush(self) -> None:
        """Store what was written so far."""
        self._file.flush()
        if self._copy and self._is_changed:
            with open(self._copy, "rb") as file:
                put_bytes(store_path(self.name), file.read())
            self._is_changed = False

    def close(self) -> None:
        """Store and close; does nothing if already closed."""
        if self._file.closed:
            return
        try:
            self.flush()
        finally:
            self._file.close()
            if self._copy:
                os.unlink(self._copy)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)

    def __enter__(self) -> File:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    @translated
    def _fetch(self) -> None:
        """Fetch the current object, for modes that keep its content."""
        if "x" in self.mode and exists(self.name):
            raise FileExistsError(f"{self.name} exists")
        if "w" in self.mode or "x" in self.mode:
            return
        if "a" in self.mode and not exists(self.name):
            return
        client().store.download(store_path(self.name), self._copy)
