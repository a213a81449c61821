"""Files beside the runs of another tracker. Nothing outside of a folder is reached by a name that a file contains."""

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
"""Of the files of one run. A file may claim any size without having it."""

MAX_FOLDERS = 200_000


def inside(folder: Path, name: str) -> Optional[Path]:
    """The plain file of this name in a folder; None when it is not there, or leads out of the folder."""
    if not name or "\0" in name or os.path.isabs(name):
        return None
    try:
        top = folder.resolve()
        found = (top / name).resolve()
        return found if found.is_file() and top in found.parents else None
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that no system has
        return None


def read_inside(folder: Path, name: str, *, max_bytes: int) -> bytes:
    """The bytes of a file in a folder. Raise ValueError that says why there are none."""
    found = inside(folder, name)
    if found is None:
        raise ValueError(f"the file {name[:120]!r} is not there")
    if found.stat().st_size > max_bytes:
        raise ValueError(f"the file {name[:120]!r} has {found.stat().st_size} bytes; {max_bytes} are the most")
    with found.open("rb") as file:
        return file.read(max_bytes)


def tree(folder: Path, problems: Problems, *, follow_links: bool = False) -> dict[str, Path]:
    """Name below the folder -> plain file. Pipes and the like are named, and links that lead out of the folder unless
    they are to be followed: a folder of somebody else could name any file of this machine."""
    found: dict[str, Path] = {}
    num_bytes = 0
    for name, file in _files(folder):
        real = file if follow_links and file.is_file() else inside(folder, name)
        if real is None:
            problems.add(f"file {name[:200]!r} is left out: it is a link out of the run's folder, or no plain file")
            continue
        num_bytes += real.stat().st_size
        if len(found) >= MAX_FILES or num_bytes > MAX_TREE_BYTES:
            problems.add(f"files from {name[:200]!r} on are left out: more than {MAX_FILES}, or {MAX_TREE_BYTES} bytes")
            break
        found[name] = file
    return found


def open_foreign(file: Path) -> sqlite3.Connection:
    """A SQLite database that somebody else made, to be read. Its views and triggers reach nothing outside of it."""
    database = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    if hasattr(database, "setlimit"):
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def load_json(data: bytes) -> Any:
    """What JSON says. Raise ValueError for what is none, or is nested too deeply."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for number, (parent, folders, names) in enumerate(os.walk(folder)):
        if number >= MAX_FOLDERS:
            return
        folders.sort()
        for name in [*(one for one in folders if os.path.islink(os.path.join(parent, one))), *sorted(names)]:
            file = Path(parent, name)
            yield file.relative_to(folder).as_posix(), file
