"""One interface for local files and the store. Store paths begin with `obs://` or `s3://`."""

from __future__ import annotations

from moxing.file.copying import copy, copy_parallel, rename
from moxing.file.file import File
from moxing.file.listing import glob, list, list_directory, scan_dir, walk
from moxing.file.plain import (
    append,
    exists,
    get_size,
    is_directory,
    make_dirs,
    mk_dir,
    read,
    remove,
    stat,
    write,
)
from moxing.file.shifting import shift

__all__ = [
    "File",
    "append",
    "copy",
    "copy_parallel",
    "exists",
    "get_size",
    "glob",
    "is_directory",
    "list",
    "list_directory",
    "make_dirs",
    "mk_dir",
    "read",
    "remove",
    "rename",
    "scan_dir",
    "shift",
    "stat",
    "walk",
    "write",
]
