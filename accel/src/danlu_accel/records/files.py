"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Union

Name = Union[str, "os.PathLike[str]"]


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name when the block ends, and leaves nothing behind if it fails.

    Any number of threads and processes may write the same file: each has a partial file of its own, and the last one
    to finish wins.
    """
    partial = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file in one go."""
    with whole_file(path) as file:
        for part in parts:
            file.write(part)
