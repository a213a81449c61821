"""Operations on a single file or folder: read, write, stat, remove."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any, NamedTuple, Union

from moxing.file.remote import MARKER, client, folder_path, is_remote, store_path, translated


class Stat(NamedTuple):
    length: int
    mtime_nsec: int
    is_directory: bool


def read(url: str, binary: bool = False, encoding: str = "utf-8") -> Union[str, bytes]:
    """Return the content of a file: text, or bytes with `binary`."""
    content = _read_bytes(url)
    return content if binary else content.decode(encoding)


def write(url: str, buf: Union[str, bytes], binary: bool = False) -> None:
    """Create or replace a file. Parent folders need not exist."""
    del binary  # the type of `buf` decides
    content = buf.encode() if isinstance(buf, str) else bytes(buf)
    if not is_remote(url):
        os.makedirs(os.path.dirname(os.path.abspath(url)), exist_ok=True)
        with open(url, "wb") as file:
            file.write(content)
        return
    put_bytes(store_path(url), content)


def append(url: str, buf: Union[str, bytes], binary: bool = False) -> None:
    """Append to a file, or create it. In the store this rewrites the whole file."""
    before = _read_bytes(url) if exists(url) else b""
    write(url, before + (buf.encode() if isinstance(buf, str) else bytes(buf)), binary)


@translated
def exists(url: str) -> bool:
    if not is_remote(url):
        return os.path.exists(url)
    return _is_object(url) or is_directory(url)


@translated
def is_directory(url: str) -> bool:
    if not is_remote(url):
        return os.path.isdir(url)
    return client().store.exists(folder_path(url))


@translated
def get_size(url: str, recursive: bool = False) -> int:
    """Size of a file in bytes; with `recursive`, of all files below a folder."""
    if is_remote(url):
        if recursive:
            return sum(item.size for item in client().store.list(folder_path(url)))
        return client().store.size(store_path(url))
    if not recursive or not os.path.isdir(url):
        return os.path.getsize(url)
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(url) for name in names)


@translated
def stat(url: str) -> Stat:
    if not is_remote(url):
        found = os.stat(url)
        return Stat(found.st_size, found.st_mtime_ns, os.path.isdir(url))
    for item in client().store.page(store_path(url), limit=1, is_flat=True).objects:
        if item.key == store_path(url).partition("://")[2].partition("/")[2]:
            return Stat(item.size, int(item.modified_at.timestamp() * 1e9), False)
    if is_directory(url):
        return Stat(0, 0, True)
    raise FileNotFoundError(f"there is no file or folder {url}")


@translated
def remove(url: str, recursive: bool = False) -> None:
    """Delete a file, or with `recursive` a folder with its content. Raises if it does not exist."""
    if not is_remote(url):
        shutil.rmtree(url) if recursive and os.path.isdir(url) else os.remove(url)
        return
    if not url.endswith("/") and _is_object(url):
        client().store.delete(store_path(url))
        return
    if not is_directory(url):
        raise FileNotFoundError(f"there is no file or folder {url}")
    if not recursive:
        raise IsADirectoryError(f"{url} is a folder; recursive=True removes it")
    client().store.delete(folder_path(url))


def make_dirs(url: str) -> None:
    """Create a folder and its parents; does nothing if it exists."""
    if not is_remote(url):
        os.makedirs(url, exist_ok=True)
    elif not is_directory(url) and folder_path(url).count("/") > 3:
        put_bytes(f"{folder_path(url)}{MARKER}", b"")


def mk_dir(url: str) -> None:
    make_dirs(url)


@translated
def put_bytes(path: str, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(prefix="moxing-") as file:
        file.write(content)
        file.flush()
        client().store.upload(file.name, path)


@translated
def _read_bytes(url: str) -> bytes:
    if not is_remote(url):
        with open(url, "rb") as file:
            return file.read()
    with tempfile.TemporaryDirectory(prefix="moxing-") as folder:
        (path,) = client().store.download(store_path(url), os.path.join(folder, "file"))
        return path.read_bytes()


def _is_object(url: str) -> bool:
    path = store_path(url)
    key: Any = path.partition("://")[2].partition("/")[2]
    return bool(key) and not key.endswith("/") and client().store.exists(path)
