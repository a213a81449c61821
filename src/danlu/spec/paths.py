"""Paths in the store and paths in a job, checked where they enter."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

SCHEME = "store://"
MAX_KEY_BYTES = 900
MAX_PART_BYTES = 240  # a file system's 255, less what an unfinished upload adds to a name

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
    """Read `store://bucket/key` or `bucket/key`. Raise ValueError with what would be right."""
    if "://" in text and not text.startswith(SCHEME):
        raise ValueError(f"{text!r} is not a path in the store; write store://bucket/folder")
    bucket, _, key = text[len(SCHEME) :].partition("/") if text.startswith(SCHEME) else text.partition("/")
    check_bucket(bucket)
    check_key(key, allow_folder=True)
    return StorePath(bucket, key)


def check_bucket(name: str) -> None:
    if not _BUCKET.fullmatch(name) or ".." in name:
        raise ValueError(
            f"{name!r} is not a bucket name; 3 to 63 lower-case letters, digits, dots and dashes would be right"
        )


def check_key(key: str, *, allow_folder: bool = False) -> None:
    """Refuse keys that could leave the bucket, or that a file system cannot hold."""
    if not key and allow_folder:
        return
    body = key[:-1] if allow_folder and key.endswith("/") else key
    if len(key.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
        raise ValueError(f"the key beginning {key[:40]!r} is longer than {MAX_KEY_BYTES} bytes")
    for part in body.split("/"):
        if not part:
            raise ValueError(f"{key!r} is not a key: it is empty, or has a '/' too many")
        if part in (".", ".."):
            raise ValueError(f"{key!r} is not a key: {part!r} cannot be a part of one")
        if len(part.encode("utf-8", "surrogatepass")) > MAX_PART_BYTES:
            raise ValueError(f"{key!r} is not a key: a part of it is longer than {MAX_PART_BYTES} bytes")
        if part.startswith(".partial."):
            raise ValueError(f"{key!r} is not a key: names beginning with '.partial.' are kept for unfinished uploads")
    if _NOT_IN_KEYS.search(key):
        told = "control characters, lone surrogates, U+FFFE, U+FFFF and backslashes are not allowed"
        raise ValueError(f"{key!r} is not a key: {told}")


def check_job_path(path: str) -> str:
    """Return the normal form of a path in a job: relative to the data folder, or absolute outside system folders."""
    if not path or "\0" in path or "\n" in path or ":" in path:
        raise ValueError(f"{path!r} is not a path in a job; write for example images or /opt/ml/input/data/images")
    normal = posixpath.normpath(path)
    if normal.startswith("//"):
        normal = normal[1:]
    if ".." in normal.split("/"):
        raise ValueError(f"{path!r} leaves the job's data folder; leave out the '..'")
    if normal == "/" or any(normal == root or normal.startswith(root + "/") for root in _SYSTEM):
        raise ValueError(f"{path!r} is a system folder; /opt/ml/input/data/... or /data/... would be right")
    return normal
