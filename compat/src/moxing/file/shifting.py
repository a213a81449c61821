"""`shift('os', 'mox')` makes Python's own file functions accept store paths, until `shift('mox', 'os')`."""

from __future__ import annotations

import builtins
import functools
import glob as glob_module
import os
import shutil
from typing import Any, Callable, NamedTuple

from moxing.file import copying, listing, plain
from moxing.file.file import File
from moxing.file.remote import is_remote


class Shifted(NamedTuple):
    owner: Any
    name: str
    ours: Callable[..., Any]


def _open(path: str, mode: str = "r", *args: Any, encoding: Any = None, **options: Any) -> File:
    del args, options  # buffering and line ends: always Python's defaults
    return File(path, mode, encoding=encoding)


def _remove_tree(path: str, ignore_errors: bool = False, onerror: Any = None) -> None:
    del onerror
    try:
        plain.remove(path, recursive=True)
    except FileNotFoundError:
        if not ignore_errors:
            raise


def _copy_tree(source: str, target: str, *args: Any, **options: Any) -> str:
    del args, options
    copying.copy_parallel(source, target)
    return target


def _copy_file(source: str, target: str, **options: Any) -> str:
    del options
    copying.copy(source, target)
    return target


def _stat(path: str, **options: Any) -> os.stat_result:
    del options
    found = plain.stat(path)
    mode = 0o040755 if found.is_directory else 0o100644
    seconds = found.mtime_nsec // 10**9
    return os.stat_result((mode, 0, 0, 1, 0, 0, found.length, seconds, seconds, seconds))


def _make_dirs(path: str, *args: Any, **options: Any) -> None:
    del args, options
    plain.make_dirs(path)


def _is_file(path: str) -> bool:
    return plain.exists(path) and not plain.is_directory(path)


SHIFTED = (
    Shifted(builtins, "open", _open),
    Shifted(os, "listdir", listing.list_directory),
    Shifted(os, "makedirs", _make_dirs),
    Shifted(os, "mkdir", _make_dirs),
    Shifted(os, "remove", plain.remove),
    Shifted(os, "rename", copying.rename),
    Shifted(os, "stat", _stat),
    Shifted(os, "walk", listing.walk),
    Shifted(os.path, "exists", plain.exists),
    Shifted(os.path, "getsize", plain.get_size),
    Shifted(os.path, "isdir", plain.is_directory),
    Shifted(os.path, "isfile", _is_file),
    Shifted(glob_module, "glob", listing.glob),
    Shifted(shutil, "copyfile", _copy_file),
    Shifted(shutil, "copytree", _copy_tree),
    Shifted(shutil, "rmtree", _remove_tree),
)
_originals: dict[tuple[Any, str], Callable[..., Any]] = {}


def shift(src_interface: str, dst_interface: str) -> None:
    """Shift `os` to `mox`, or back. Idempotent. Local paths are handled by Python's functions either way."""
    pair = (src_interface, dst_interface)
    if pair not in (("os", "mox"), ("mox", "os")):
        raise ValueError(f"expected shift('os', 'mox') or shift('mox', 'os'), got shift{pair}")
    if pair == ("os", "mox") and not _originals:
        for one in SHIFTED:
            _originals[(one.owner, one.name)] = getattr(one.owner, one.name)
            setattr(one.owner, one.name, _chosen(one.ours, getattr(one.owner, one.name)))
    elif pair == ("mox", "os"):
        for (owner, name), original in _originals.items():
            setattr(owner, name, original)
        _originals.clear()


def _chosen(ours: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **options: Any) -> Any:
        if any(is_remote(path) for path in args[:2]):
            return ours(*args, **options)
        return original(*args, **options)

    return call
