"""What is in a folder that becomes part of an artifact: all of it, or an error that names what cannot be kept."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Sequence
from typing import NamedTuple, Optional

from danlu.content.manifest import MAX_PATH_BYTES, check_path

MAX_FILES = 200_000
"""More do not fit into a manifest. It also ends a tree of links that multiplies."""

_NUM_NAMED = 3
_Above = tuple[tuple[int, int], ...]


class Found(NamedTuple):
    path: str
    """In the artifact."""

    local: str


class Listing(NamedTuple):
    files: list[Found]
    folders: list[str]
    """Empty ones, by their paths in the artifact."""


def list_folder(top: str, path: str = "", *, ignore: Sequence[str] = ()) -> Listing:
    """List a folder as it will be in the artifact, below `path`. Links are followed, to files and to folders.

    `ignore` has patterns such as `*.tmp`, for names and for paths below the folder. Raise ValueError that names what
    cannot be kept: a link that leads nowhere or in a circle, a fifo, a socket, a device, a folder that cannot be
    read, and a name that other systems cannot hold.
    """
    walk = _Walk(top, path.strip("/"), tuple(ignore))
    walk.run()
    if walk.problems:
        named = "; ".join(walk.problems[:_NUM_NAMED])
        more = f"; and {len(walk.problems) - _NUM_NAMED} more" if len(walk.problems) > _NUM_NAMED else ""
        raise ValueError(f"{top} cannot be added completely: {named}{more}; nothing of it was added")
    return Listing(walk.files, walk.folders)


class _Walk:
    def __init__(self, top: str, path: str, ignore: tuple[str, ...]) -> None:
        self.files: list[Found] = []
        self.folders: list[str] = []
        self.problems: list[str] = []
        self._top = top
        self._path = path
        self._ignore = ignore
        self._left: list[tuple[str, _Above]] = [("", ())]

    def run(self) -> None:
        while self._left:
            self._folder(*self._left.pop())

    def _folder(self, inner: str, above: _Above) -> None:
        """`inner` is the path below the top; `above` are the folders that lead to it."""
        local = os.path.join(self._top, inner) if inner else self._top
        try:
            about = os.stat(local)
            names = sorted(os.listdir(local))
        except OSError as error:
            self._refuse(inner, error.strerror or str(error))
            return
        own = (about.st_dev, about.st_ino)
        if own in above:
            self._refuse(inner, "a link that leads in a circle")
            return
        if len(os.fsencode(self._in_artifact(inner))) > MAX_PATH_BYTES:
            self._refuse(f"{inner[:60]}...", f"paths have at most {MAX_PATH_BYTES} bytes")
            return
        kept = [name for name in names if not self._is_ignored(f"{inner}/{name}" if inner else name)]
        if not kept and self._in_artifact(inner):
            self._keep(inner, None)
        for name in kept:
            self._entry(f"{inner}/{name}" if inner else name, (*above, own))

    def _entry(self, inner: str, above: _Above) -> None:
        if len(self.files) + len(self.folders) >= MAX_FILES:
            raise ValueError(f"{self._top} has more than {MAX_FILES} files; add it in several artifacts")
        local = os.path.join(self._top, inner)
        try:
            mode = os.stat(local).st_mode
        except OSError as error:
            is_link = os.path.islink(local)
            self._refuse(inner, "a link that leads nowhere" if is_link else error.strerror or str(error))
            return
        if stat.S_ISDIR(mode):
            self._left.append((inner, above))
        elif stat.S_ISREG(mode):
            self._keep(inner, local)
        else:
            self._refuse(inner, "not a regular file")

    def _keep(self, inner: str, local: Optional[str]) -> None:
        path = self._in_artifact(inner)
        try:
            check_path(path)
        except ValueError as error:
            self.problems.append(str(error))
            return
        if local is None:
            self.folders.append(path)
        else:
            self.files.append(Found(path, local))

    def _in_artifact(self, inner: str) -> str:
        return f"{self._path}/{inner}".strip("/")

    def _is_ignored(self, inner: str) -> bool:
        name = inner.rpartition("/")[2]
        return any(fnmatch.fnmatchcase(name, one) or fnmatch.fnmatchcase(inner, one) for one in self._ignore)

    def _refuse(self, inner: str, why: str) -> None:
        self.problems.append(f"{inner or self._top!r}: {why}")
