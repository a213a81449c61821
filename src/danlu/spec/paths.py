"""Validation of paths in the store and in jobs."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple, Optional
from urllib.parse import parse_qsl, urlsplit

SCHEME = "store://"
ARTIFACT, MODEL, WEB, S3 = "artifact:", "model:", "https://", "s3://"
"""Prefixes of inputs that are not store paths."""

MAX_SOURCE_CHARS = 2000
MAX_KEY_BYTES = 900
MAX_NAME_BYTES = 240  # 255 of a file system, less the prefix of a partial upload

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_NOT_IN_KEYS = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff\ufffe\uffff]")  # S3 services list keys in XML
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
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


class Remote(NamedTuple):
    """An input from outside, by https or S3."""

    url: str
    """URL without the part after `#`."""

    sha256: str = ""
    secret: str = ""
    """Name of the job secret with `ACCESS_KEY_ID:SECRET_ACCESS_KEY`."""

    endpoint: str = ""
    region: str = ""


def check_source(text: str) -> str:
    """Normalize the source of an input: a store path, an artifact, a model or an external URL. Raise ValueError."""
    if text.startswith((ARTIFACT, MODEL)):
        kind, _, name = text.partition(":")
        if not name or len(text) > MAX_SOURCE_CHARS or any(char.isspace() or ord(char) < 32 for char in name):
            example = "artifact:mnist-model:best" if kind == "artifact" else "model:mnist-cnn@champion"
            raise ValueError(f"expected the name of {_a(kind)}, such as {example}, got {text[:200]!r}")
        return text
    if text.startswith((WEB, S3)):
        parse_remote(text)
        return text
    if "://" in text and not text.startswith(SCHEME):
        raise ValueError(f"expected store://, artifact:, model:, https:// or s3://, got {text[:200]!r}")
    return str(parse_store_path(text))


def parse_remote(text: str) -> Remote:
    """Parse `https://HOST/FILE#sha256=...` or `s3://BUCKET/KEY#secret=NAME&endpoint=...`. Raise ValueError."""
    url, _, after = text.partition("#")
    parts = urlsplit(url)
    try:
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        has_port = False
    if len(text) > MAX_SOURCE_CHARS or any(ord(char) <= 32 or ord(char) == 127 for char in text):
        raise ValueError(f"expected at most {MAX_SOURCE_CHARS} characters without spaces, got {text[:200]!r}")
    if not parts.hostname or not has_port or parts.username is not None:
        raise ValueError(f"expected an address such as https://example.com/data.tar, got {text[:200]!r}")
    options = dict(parse_qsl(after, keep_blank_values=True))
    found = Remote(url, **{name: options.pop(name, "") for name in ("sha256", "secret", "endpoint", "region")})
    if options:
        raise ValueError(f"expected sha256, secret, endpoint or region after '#', got {next(iter(options))[:80]!r}")
    _check_remote(found, parts.path)
    return found


def secret_of(source: str) -> Optional[str]:
    """The job secret that an input needs; None if it needs none."""
    return (parse_remote(source).secret or None) if source.startswith(S3) else None


def _check_remote(found: Remote, path: str) -> None:
    is_web = found.url.startswith(WEB)
    if found.sha256 and not _SHA256.fullmatch(found.sha256):
        raise ValueError(f"expected 64 hexadecimal digits as sha256, got {found.sha256[:80]!r}")
    if is_web and not found.sha256:
        raise ValueError(f"expected a checksum: {found.url}#sha256=<64 hexadecimal digits>")
    if is_web and (found.secret or found.endpoint or found.region):
        raise ValueError("expected only sha256 after '#' of an https:// address; secret and endpoint go with s3://")
    if not is_web and not path.strip("/"):
        raise ValueError(f"expected an object or a folder in the bucket, such as {found.url.rstrip('/')}/data/")
    if not is_web and not _NAME.fullmatch(found.secret):
        raise ValueError(f"expected the name of a job secret: {found.url}#secret=NAME")
    if found.endpoint and not (found.endpoint.startswith(WEB) and urlsplit(found.endpoint).hostname):
        raise ValueError(f"expected an endpoint such as https://s3.example.com, got {found.endpoint[:200]!r}")
    if not re.fullmatch(r"[A-Za-z0-9-]{0,40}", found.region):
        raise ValueError(f"expected a region such as eu-west-1, got {found.region[:80]!r}")


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


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
