"""Access the files that belong to another tracker's runs. File names in logs cannot lead out of the run's folder."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from danlu.importing.records import Problems

MAX_FILES = 100_000
MAX_CELL_BYTES = 64 << 20
MAX_TREE_BYTES = 1 << 40
"""Maximum size of the files of one run. Sparse files may claim any size."""

MAX_FOLDERS = 200_000


def inside(folder: Path, name: str) -> Optional[Path]:
    """Return the regular file of this name in a folder; None when it does not exist or leads out of the folder."""
    if not name or "\0" in name or os.path.isabs(name):
        return None
    try:
        top = folder.resolve()
        found = (top / name).resolve()
        return found if found.is_file() and top in found.parents else None
    except (OSError, RuntimeError, ValueError):  # a loop of symlinks, or an invalid name
        return None


def read_inside(folder: Path, name: str, *, max_bytes: int) -> bytes:
    """Return the content of a file in a folder. Raise ValueError when it cannot be read."""
    found = inside(folder, name)
    if found is None:
        raise ValueError(f"the file {name[:120]!r} is not there")
    if found.stat().st_size > max_bytes:
        raise ValueError(f"the file {name[:120]!r} has {found.stat().st_size} bytes; {max_bytes} are the most")
    with found.open("rb") as file:
        return file.read(max_bytes)


def tree(folder: Path, problems: Problems, *, follow_links: bool = False) -> dict[str, Path]:
    """Return name below the folder -> regular file. Others, such as pipes, are reported, and so are symlinks out of the
    folder unless `follow_links`: an untrusted folder could refer to any file of this machine."""
    found: dict[str, Path] = {}
    num_bytes = 0
    for name, file in _files(folder, problems):
        try:
            real = file if follow_links and file.is_file() else inside(folder, name)
            size = 0 if real is None else real.stat().st_size
        except OSError as error:
            problems.add(f"file {unreadable(repr(name[:200]), error)}")
            continue
        if real is None:
            problems.add(
                f"file {name[:200]!r} is left out: it is a link to outside of the run's folder, or no regular file"
            )
            continue
        num_bytes += size
        if len(found) >= MAX_FILES or num_bytes > MAX_TREE_BYTES:
            problems.add(f"files from {name[:200]!r} on are left out: more than {MAX_FILES}, or {MAX_TREE_BYTES} bytes")
            break
        found[name] = file
    return found


def walk(top: Path, problems: Problems) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield what `os.walk` does. A folder that cannot be read is reported; one that is not there is empty."""

    def report(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            problems.add(unreadable(error.filename, error))

    try:
        yield from os.walk(top, onerror=report)
    except RecursionError:  # before Python 3.12
        problems.add(f"{top}: its folders are nested too deeply")


def unreadable(file: object, error: Exception) -> str:
    """Say in one sentence why a file or folder cannot be read. Its path may be longer than a sentence should be."""
    why = (isinstance(error, OSError) and error.strerror) or str(error)
    return f"{str(file)[:300]}: {why.partition(chr(10))[0]}"


def open_foreign(file: Path) -> sqlite3.Connection:
    """Open an untrusted SQLite database read-only, so that its views and triggers have no side effects. Its texts may
    be any bytes."""
    database = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    if hasattr(database, "setlimit"):
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def load_json(data: bytes) -> Any:
    """Parse JSON. Raise ValueError when it is invalid or nested too deeply."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _files(folder: Path, problems: Problems) -> Iterator[tuple[str, Path]]:
    for number, (parent, folders, names) in enumerate(walk(folder, problems)):
        if number >= MAX_FOLDERS:
            return
        folders.sort()
        for name in [*(one for one in folders if os.path.islink(os.path.join(parent, one))), *sorted(names)]:
            file = Path(parent, name)
            yield file.relative_to(folder).as_posix(), file
