"""Validation of paths in the store and in jobs."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

SCHEME = "store://"
MAX_KEY_BYTES = 900
MAX_NAME_BYTES = 240  # 255 of a file system, less the prefix of a partial upload

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_NOT_IN_KEYS = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff\ufffe\uffff]")  # S3 services answer lists in XML
_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var")


class StorePath(NamedTuple):
    """A bucket and a key in it. An empty key is the whole bucket; a key that ends in `/` is a folder."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}"

    def __truediv__(self, part: str) -> StorePath:
        return StorePath(self.bucket, f"{self.key.rstrip('/')}/{part}".lstrip("/"))


def parse_store_path(text: str) -> StorePath:
    """Parse `store://bucket/key` or `bucket/key`. Raise ValueError."""
    if "://" in text and not text.startswith(SCHEME):
        raise ValueError(f"expected a store path such as store://bucket/folder, got {text!r}")
    bucket, _, key = text[len(SCHEME) :].partition("/") if text.startswith(SCHEME) else text.partition("/")
    check_bucket(bucket)
    check_key(key, allow_folder=True)
    return StorePath(bucket, key)


def check_bucket(name: str) -> None:
    if not _BUCKET.fullmatch(name) or ".." in name:
        raise ValueError(f"expected a bucket name of 3 to 63 lower-case letters, digits, dots and dashes, got {name!r}")


def check_key(key: str, *, allow_folder: bool = False) -> None:
    """Raise ValueError for keys that could leave the bucket, or that a file system cannot store."""
    if not key and allow_folder:
        return
    body = key[:-1] if allow_folder and key.endswith("/") else key
    if len(key.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
        raise ValueError(f"expected a key of at most {MAX_KEY_BYTES} bytes, got one that starts with {key[:40]!r}")
    for part in body.split("/"):
        if not part:
            raise ValueError(f"invalid key {key!r}: empty, or an extra '/'")
        if part in (".", ".."):
            raise ValueError(f"invalid key {key!r}: {part!r} is not allowed in a path")
        if len(part.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
            raise ValueError(f"invalid key {key!r}: names in a path have at most {MAX_NAME_BYTES} bytes")
        if part.startswith(".partial."):
            raise ValueError(f"invalid key {key!r}: names that start with '.partial.' are reserved")
    if _NOT_IN_KEYS.search(key):
        told = "control characters, lone surrogates, U+FFFE, U+FFFF and backslashes are not allowed"
        raise ValueError(f"invalid key {key!r}: {told}")


def check_job_path(path: str) -> str:
    """Normalize a path in a job: relative to the data folder, or absolute and outside of system folders."""
    if not path or "\0" in path or "\n" in path or ":" in path:
        raise ValueError(f"expected a path in the job, such as images or /opt/ml/input/data/images, got {path!r}")
    normal = posixpath.normpath(path)
    if normal.startswith("//"):
        normal = normal[1:]
    if ".." in normal.split("/"):
        raise ValueError(f"{path!r} is outside of the job's data folder; remove '..'")
    if normal == "/" or any(normal == root or normal.startswith(root + "/") for root in _SYSTEM):
        raise ValueError(f"expected a path such as /opt/ml/input/data/... or /data/..., got the system folder {path!r}")
    return normal
