"""Copy and move files and folders, local or in the store."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from typing import Optional

from moxing.file.listing import list_directory
from moxing.file.plain import exists, is_directory, make_dirs, remove
from moxing.file.remote import MARKER, client, folder_path, is_remote, store_path, translated

THREADS = 16


@translated
def copy(src_url: str, dst_url: str) -> None:
    """Copy one file. Creates parent folders. A target that is a folder, or ends in `/`, gets the file inside."""
    target = _target(src_url, dst_url)
    if is_remote(src_url) and is_remote(target):
        with tempfile.TemporaryDirectory(prefix="moxing-") as folder:
            local = os.path.join(folder, "file")
            client().store.download(store_path(src_url), local)
            client().store.upload(local, store_path(target))
    elif is_remote(src_url):
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        client().store.download(store_path(src_url), target)
    elif is_remote(target):
        if not os.path.isfile(src_url):
            raise FileNotFoundError(f"there is no file {src_url}")
        client().store.upload(src_url, store_path(target))
    else:
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        shutil.copyfile(src_url, target)


@translated
def copy_parallel(
    src_url: str,
    dst_url: str,
    file_list: Optional[Iterable[str]] = None,
    threads: int = THREADS,
    is_processing: bool = True,
    use_queue: bool = True,
) -> None:
    """Copy the content of a folder into another, several files at a time; for a file, same as `copy`.

    `file_list`: only these, relative to the folder. Other files in the target are kept.
    """
    del is_processing, use_queue  # scheduling of the original
    if not is_directory(src_url):
        if not exists(src_url):
            raise FileNotFoundError(f"there is no file or folder {src_url}")
        copy(src_url, dst_url)
        return
    if file_list is not None:
        for name in file_list:
            copy(f"{src_url.rstrip('/')}/{name}", f"{dst_url.rstrip('/')}/{name}")
        return
    if not list_directory(src_url):
        make_dirs(dst_url)
    elif is_remote(src_url) and is_remote(dst_url):
        with tempfile.TemporaryDirectory(prefix="moxing-") as folder:
            _download(src_url, folder, threads=threads)
            client().store.upload(folder, folder_path(dst_url), num_parallel=threads)
    elif is_remote(src_url):
        _download(src_url, dst_url, threads=threads)
    elif is_remote(dst_url):
        client().store.upload(src_url, folder_path(dst_url), num_parallel=threads)
    else:
        shutil.copytree(src_url, dst_url, dirs_exist_ok=True)


def rename(src_url: str, dst_url: str) -> None:
    """Move a file or a folder."""
    if not is_remote(src_url) and not is_remote(dst_url):
        os.rename(src_url, dst_url)
        return
    is_folder = is_directory(src_url)
    copy_parallel(src_url, dst_url) if is_folder else copy(src_url, dst_url)
    remove(src_url, recursive=is_folder)


def _download(src_url: str, folder: str, *, threads: int) -> None:
    os.makedirs(folder, exist_ok=True)
    for path in client().store.download(folder_path(src_url), folder, num_parallel=threads):
        if path.name == MARKER and path.stat().st_size == 0:
            path.unlink()


def _target(src_url: str, dst_url: str) -> str:
    is_folder = dst_url.endswith("/") if is_remote(dst_url) else dst_url.endswith("/") or os.path.isdir(dst_url)
    return f"{dst_url.rstrip('/')}/{src_url.rstrip('/').rpartition('/')[2]}" if is_folder else dst_url
