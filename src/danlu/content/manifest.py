"""The manifest of an artifact: its files, as chunks, and its references. Its own digest names what is in a version.

{"format":2,
 "files":[{"path":"model.pt","size":7,"sha256":"…","chunks":[["…",7]],"is_executable":true},
          {"path":"optimizer.pt","size":9437184,"chunks":[["…",1048576],…]}],
 "references":[{"path":"data","uri":"s3://bucket/data/","size":12,"checksum":"md5:…"}],
 "folders":["logs/empty"]}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

FORMATS = (1, 2)
"""In the second one a file of several chunks may have no digest of its own."""

MAX_BYTES = 32 << 20
MAX_CHUNK_BYTES = 4 << 20
MAX_PATH_BYTES = 1024
MAX_URI = 4000
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST = 2**50


class Chunk(NamedTuple):
    sha256: str
    size: int


class File(NamedTuple):
    path: str
    size: int
    sha256: Optional[str]
    """Of all of it, where that is known. A file of several chunks is named by theirs."""

    chunks: tuple[Chunk, ...]
    is_executable: bool = False

    @property
    def mark(self) -> str:
        """Tells it from files with other bytes."""
        return self.sha256 or digest_of("".join(chunk.sha256 for chunk in self.chunks).encode())


class Reference(NamedTuple):
    """Something that is elsewhere: it is named, not kept."""

    path: str
    uri: str
    size: Optional[int] = None
    checksum: Optional[str] = None


class Manifest(NamedTuple):
    files: tuple[File, ...] = ()
    references: tuple[Reference, ...] = ()
    folders: tuple[str, ...] = ()
    """Empty ones: the others follow from the files."""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def chunks(self) -> dict[str, int]:
        """Digest -> size of everything that must be kept for it."""
        return {chunk.sha256: chunk.size for file in self.files for chunk in file.chunks}

    def to_json(self) -> bytes:
        """The canonical form: what is stored, and what the digest is of."""
        values: dict[str, Any] = {
            "format": 2 if any(file.sha256 is None for file in self.files) else 1,
            "files": [_file_out(file) for file in sorted(self.files, key=lambda one: one.path)],
            "references": [_reference_out(one) for one in sorted(self.references, key=lambda one: one.path)],
        }
        if self.folders:  # left out when there are none: digests of older manifests stay as they were
            values["folders"] = sorted(self.folders)
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest_of_chunks(chunks: Sequence[Chunk]) -> Optional[str]:
    """The SHA-256 of a file, where its chunks tell it: with several it would be another pass over the bytes."""
    if not chunks:
        return digest_of(b"")
    return chunks[0].sha256 if len(chunks) == 1 else None


def read_manifest(data: bytes) -> Manifest:
    """Read a manifest, of `to_json` or from elsewhere. Raise ValueError that says what is wrong and where."""
    if len(data) > MAX_BYTES:
        raise ValueError(
            f"expected a manifest of at most {MAX_BYTES >> 20} MiB, got {len(data)} bytes; make several artifacts"
        )
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the manifest is no JSON: {error}") from error
    return manifest_of(values)


def manifest_of(values: Any) -> Manifest:
    """As `read_manifest`, for JSON that has been read."""
    if not isinstance(values, dict) or values.get("format") not in FORMATS:
        raise ValueError(
            f"expected a manifest of one of the formats {FORMATS}; this one is of another version of Danlu, or of none"
        )
    found = Manifest(
        tuple(_file_in(one, number) for number, one in enumerate(_list(values, "files"))),
        tuple(_reference_in(one, number) for number, one in enumerate(_list(values, "references"))),
        tuple(_folder_in(one, number) for number, one in enumerate(_list(values, "folders"))),
    )
    check_paths([*(file.path for file in found.files), *(one.path for one in found.references)], found.folders)
    sizes: dict[str, int] = {}
    for file in found.files:
        for chunk in file.chunks:
            if sizes.setdefault(chunk.sha256, chunk.size) != chunk.size:
                raise ValueError(f"{file.path}: the chunk {chunk.sha256} has two sizes")
    return found


def check_path(path: str) -> None:
    """Raise ValueError unless it is a path below a folder that every system can hold."""
    wrong = _wrong_path(path)
    if wrong:
        raise ValueError(f"{path!r:.200} cannot be a path in an artifact: {wrong}")


def check_paths(paths: Sequence[str], folders: Sequence[str] = ()) -> None:
    """Raise ValueError when one is there twice, or is a folder of another."""
    seen, every = set(paths), [*paths, *folders]
    if len(set(every)) != len(every):
        twice = next(path for path, count in Counter(every).items() if count > 1)
        raise ValueError(f"{twice!r} is in the artifact twice")
    for path in every:
        for folder in _folders(path):
            if folder in seen:
                raise ValueError(f"{folder!r} is a file and, for {path!r}, a folder; one of them needs another path")


def _folders(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def _wrong_path(path: Any) -> str:
    if not isinstance(path, str) or not path:
        return "it is empty"
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "it is no text"
    if length > MAX_PATH_BYTES:
        return f"it has {length} bytes, {MAX_PATH_BYTES} are the most"
    if "\\" in path or any(ord(char) < 32 or ord(char) == 127 for char in path):
        return "it has a backslash or a control character in it"
    if any(part in ("", ".", "..") for part in path.split("/")):
        return "it is not below the artifact; expected a path such as models/best.pt"
    return ""


def _file_out(file: File) -> dict[str, Any]:
    found: dict[str, Any] = {"path": file.path, "size": file.size}
    if file.sha256 is not None:
        found["sha256"] = file.sha256
    found["chunks"] = [[chunk.sha256, chunk.size] for chunk in file.chunks]
    return {**found, "is_executable": True} if file.is_executable else found


def _reference_out(one: Reference) -> dict[str, Any]:
    return {name: value for name, value in one._asdict().items() if value is not None}


def _file_in(values: Any, number: int) -> File:
    where = f"files[{number}]"
    path, size = (_field(values, name, where) for name in ("path", "size"))
    _check_entry(path, where)
    chunks = tuple(_chunk_in(one, f"{where}, {path!r}") for one in _list(values, "chunks"))
    if not _is_size(size) or size != sum(chunk.size for chunk in chunks):
        raise ValueError(f"{where}, {path!r}: its size is {size!r}, its chunks add up to {sum(c.size for c in chunks)}")
    sha256 = values.get("sha256")
    if sha256 is not None and not _is_digest(sha256):
        raise ValueError(f"{where}, {path!r}: sha256 is {sha256!r:.80}; expected 64 hexadecimal digits")
    return File(path, size, sha256 or digest_of_chunks(chunks), chunks, values.get("is_executable") is True)


def _folder_in(path: Any, number: int) -> str:
    _check_entry(path, f"folders[{number}]")
    return str(path)


def _chunk_in(values: Any, where: str) -> Chunk:
    if not isinstance(values, list) or len(values) != 2 or not _is_digest(values[0]) or not _is_size(values[1]):
        raise ValueError(f"{where}: {values!r:.100} is no chunk; expected [digest, size]")
    if not 0 < values[1] <= MAX_CHUNK_BYTES:
        raise ValueError(f"{where}: a chunk of {values[1]} bytes; expected 1 to {MAX_CHUNK_BYTES}")
    return Chunk(values[0], values[1])


def _reference_in(values: Any, number: int) -> Reference:
    where = f"references[{number}]"
    path, uri = _field(values, "path", where), _field(values, "uri", where)
    _check_entry(path, where)
    check_uri(uri)
    size, checksum = values.get("size"), values.get("checksum")
    if size is not None and not _is_size(size):
        raise ValueError(f"{where}: size is {size!r:.40}; expected a number of bytes")
    if checksum is not None and not (isinstance(checksum, str) and 0 < len(checksum) <= 300):
        raise ValueError(f"{where}: checksum is {checksum!r:.40}; expected a checksum such as sha256:…")
    return Reference(path, uri, size, checksum)


def check_uri(uri: Any) -> None:
    if not isinstance(uri, str) or not 0 < len(uri) <= MAX_URI or not uri.isprintable() or ":" not in uri:
        raise ValueError(f"{uri!r:.100} is no URI; expected a URI such as s3://bucket/data/ or store://main/data/")


def _check_entry(path: Any, where: str) -> None:
    wrong = _wrong_path(path)
    if wrong:
        raise ValueError(f"{where}: {path!r:.200} cannot be a path in an artifact: {wrong}")


def _field(values: Any, name: str, where: str) -> Any:
    if not isinstance(values, dict) or name not in values:
        raise ValueError(f"the manifest's {where} has no {name!r}")
    return values[name]


def _list(values: Any, name: str) -> list[Any]:
    found = values.get(name, [])
    if not isinstance(found, list):
        raise ValueError(f"the manifest's {name!r} is no list")
    return found


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST
