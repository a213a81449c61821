"""List folders."""

from __future__ import annotations

import builtins
import fnmatch
import glob as local_glob
import os
from collections.abc import Iterator

from moxing.file.remote import MARKER, client, folder_path, is_remote, translated


@translated
def list_directory(path: str, recursive: bool = False, skip_file: bool = False) -> builtins.list[str]:
    """Return the names in a folder, relative to it; with `recursive`, of all below it. Raises if it does not exist."""
    names = _remote(path, recursive=recursive) if is_remote(path) else _local(path, recursive=recursive)
    found = sorted(names)
    return [name.rstrip("/") for name in found if not skip_file or name.endswith("/")]


def list(path: str, recursive: bool = False) -> builtins.list[str]:
    return list_directory(path, recursive=recursive)


def walk(top: str) -> Iterator[tuple[str, builtins.list[str], builtins.list[str]]]:
    """Like os.walk: folders before their content."""
    if not is_remote(top):
        yield from os.walk(top)
        return
    names = sorted(_remote(top, recursive=False))
    folders = [name.rstrip("/") for name in names if name.endswith("/")]
    yield top, folders, [name for name in names if not name.endswith("/")]
    for folder in folders:
        yield from walk(f"{top.rstrip('/')}/{folder}")


def glob(pattern: str) -> builtins.list[str]:
    """Return paths that match a pattern with `*` and `?`; a star does not match `/`."""
    if not is_remote(pattern):
        return sorted(local_glob.glob(pattern))
    parts = pattern.split("/")
    first = next((place for place, part in enumerate(parts) if any(sign in part for sign in "*?[")), len(parts))
    base = "/".join(parts[:first])
    depth = len(parts) - first
    try:
        found = list_directory(base, recursive=True)
    except FileNotFoundError:
        return []
    fits = ("/".join(parts[first:])).split("/")
    return [
        f"{base}/{name}"
        for name in found
        if name.count("/") + 1 == depth and all(map(fnmatch.fnmatchcase, name.split("/"), fits))
    ]


def scan_dir(path: str) -> Iterator[str]:
    """Yield the names in a folder."""
    yield from list_directory(path)


def _remote(path: str, *, recursive: bool) -> set[str]:
    """Return the names below a folder; those of folders end in `/`."""
    folder = folder_path(path)
    prefix = folder.partition("://")[2].partition("/")[2]
    if not client().store.exists(folder):
        raise FileNotFoundError(f"there is no folder {path}")
    if not recursive:
        items = (item if isinstance(item, str) else item.key for item in client().store.browse(folder))
        names = {key[len(prefix) :] for key in items}
    else:
        names = set()
        for item in client().store.list(folder):
            parts = item.key[len(prefix) :].split("/")
            names.add("/".join(parts))
            names |= {"/".join(parts[:depth]) + "/" for depth in range(1, len(parts))}
    return {name for name in names if name.rpartition("/")[2] != MARKER}


def _local(path: str, *, recursive: bool) -> set[str]:
    if not recursive:
        return {f"{name}/" if os.path.isdir(os.path.join(path, name)) else name for name in os.listdir(path)}
    found = set()
    for place, folders, names in os.walk(path):
        base = os.path.relpath(place, path)
        found |= {os.path.normpath(os.path.join(base, name)) for name in names}
        found |= {os.path.normpath(os.path.join(base, name)) + "/" for name in folders}
    return found
