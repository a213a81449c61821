"""Index existing files: tars of samples, and files with a sample per line. Data is not copied.

Tars are read like WebDataset does: consecutive members whose paths agree up to the first dot of the file name are one
sample; the rest after that dot is the name of the field. Each file is read once as a whole, for checksums.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from danlu_accel.records.crc32c import crc32c
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.files import Name
from danlu_accel.records.index import Shard
from danlu_accel.samples.index import MAX_FIELDS, PART, SAMPLE, SampleIndex, write_sample_index

KEY_AND_FIELD = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)", re.DOTALL)
LINES = {".jsonl": "json", ".txt": "txt"}
"""Name of the field of a line, by suffix of the file."""
READ_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 28
MAX_HEADER_BYTES = 1 << 24
"""Limit for a name or an attribute table in a tar; real ones have a few hundred bytes."""


class Part(NamedTuple):
    field: str
    offset: int
    length: int
    checksum: int


class Sample(NamedTuple):
    key: str
    parts: list[Part]


def index_samples(paths: Iterable[Name], name: Name) -> SampleIndex:
    """Index .tar, .jsonl and .txt files of one folder; write `<name>.samples` to it, and return it.

    Raises BadRecordFile for a truncated or compressed tar, and if there are no samples.
    """
    files = sorted(Path(path) for path in paths)
    target = Path(name)
    if target.suffix != ".samples":
        target = target.with_name(f"{target.name}.samples")
    for path in files:
        if path.resolve().parent != target.parent.resolve():
            raise ValueError(
                f"name: expected a place beside the files, such as {str(path.parent / target.name)!r}, got "
                f"{str(target)!r}"
            )
    builder = IndexBuilder()
    for path in files:
        builder.add_shard(path)
    index = builder.finish()
    if not len(index.samples):
        raise BadRecordFile(f"no samples in {len(files)} files for {str(target)!r}; expected at least one")
    write_sample_index(target, index)
    return index


class IndexBuilder:
    """Builds an index sample by sample."""

    def __init__(self) -> None:
        self._shards: list[Shard] = []
        self._sizes: list[int] = []
        self._fields: dict[str, int] = {}
        self._samples: list[tuple[int, int]] = []
        self._parts: list[tuple[int, int, int, int]] = []
        self._keys: list[bytes] = []

    def add_shard(self, path: Path) -> None:
        """Add a file and all its samples."""
        _require_utf8(path.name, "the file")
        before = len(self._samples)
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                for sample in samples_in(file, size, path.name):
                    self.add_sample(sample)
        except OSError as error:
            raise BadRecordFile(f"cannot read {str(path)!r}: {error.strerror or error}") from error
        self.close_shard(Shard(path.name, size), len(self._samples) - before)

    def add_sample(self, sample: Sample) -> None:
        key = sample.key.encode("utf-8", "surrogateescape")
        self._keys.append(key)
        self._samples.append((len(sample.parts), len(key)))
        for part in sample.parts:
            if part.field not in self._fields:
                _require_utf8(part.field, f"sample {sample.key!r}: its field")
            number = self._fields.setdefault(part.field, len(self._fields))
            if number >= MAX_FIELDS:
                raise BadRecordFile(
                    f"sample {sample.key!r}: expected at most {MAX_FIELDS} different fields, got one more, "
                    f"{part.field!r}; members are named <key>.<field>"
                )
            self._parts.append((part.offset, part.length, part.checksum, number))

    def close_shard(self, shard: Shard, num_samples: int) -> None:
        """Add the shard of the samples that were added last."""
        self._shards.append(shard)
        self._sizes.append(num_samples)

    def finish(self) -> SampleIndex:
        return SampleIndex(
            tuple(self._shards),
            tuple(self._sizes),
            tuple(self._fields),
            np.array(self._samples, SAMPLE),
            np.array(self._parts, PART),
            b"".join(self._keys),
        )


def _require_utf8(name: str, what: str) -> None:
    """Reject a name that an index cannot hold."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise BadRecordFile(f"{what}: expected a name in UTF-8, got {name!r}") from error


def samples_in(file: BinaryIO, size: int, name: str) -> Iterator[Sample]:
    """Yield the samples of a file, which is read according to its suffix."""
    suffix = Path(name).suffix.lower()
    if suffix == ".tar":
        return _samples_of_tar(file, size, name)
    if suffix in LINES:
        return _samples_of_lines(file, name, LINES[suffix])
    hint = "; it is compressed: uncompress it first, so that samples can be found in it" if _is_packed(suffix) else ""
    raise BadRecordFile(f"{name}: expected a name that ends in .tar, {', '.join(LINES)}, got {suffix!r}{hint}")


def _is_packed(suffix: str) -> bool:
    return suffix in (".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip")


def _samples_of_tar(file: BinaryIO, size: int, name: str) -> Iterator[Sample]:
    sample: Sample | None = None
    for member in _members(file, size, name):
        found = KEY_AND_FIELD.fullmatch(member.name)
        if found is None:
            continue
        key, field = found[1], found[2].lower()
        if sample is None or sample.key != key:
            if sample is not None:
                yield sample
            sample = Sample(key, [])
        if any(part.field == field for part in sample.parts):
            raise BadRecordFile(f"{name}: the sample {key!r} has the field {field!r} twice")
        sample.parts.append(Part(field, member.offset_data, member.size, _checksum(file, member, name)))
    if sample is not None:
        yield sample


def _members(file: BinaryIO, size: int, name: str) -> Iterator[tarfile.TarInfo]:
    """Yield the regular files of a tar; raise BadRecordFile if it is truncated, where tarfile would just stop."""
    headers: Any = _Headers(file, size, name)
    try:
        with tarfile.open(fileobj=headers, mode="r:", errors="surrogateescape") as tar:
            for member in tar:
                tar.members = []  # type: ignore[attr-defined]  # tarfile would keep all of them
                if member.isreg() and member.issparse():
                    raise BadRecordFile(f"{name}: {member.name!r} is stored sparsely; expected plain files")
                _require_inside(member, size, name)
                if member.isreg():
                    yield member
            end = tar.offset
    except (tarfile.TarError, EOFError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise BadRecordFile(f"{name}: expected an uncompressed tar: {error}") from error
    file.seek(end)
    if file.read(tarfile.BLOCKSIZE).strip(b"\0") or end >= size:
        raise BadRecordFile(
            f"{name}: no member and no end of the tar at byte {end} of {size}; it is damaged or was cut"
        )
    while rest := file.read(READ_BYTES):
        if rest.strip(b"\0"):
            raise BadRecordFile(f"{name}: something stands behind its end at byte {end}; were several joined by cat?")


class _Headers:
    """A file object for tarfile that limits reads: damaged headers could make tarfile allocate huge buffers."""

    def __init__(self, file: BinaryIO, size: int, name: str) -> None:
        self._file, self._most, self._name = file, min(size, MAX_HEADER_BYTES), name
        self.seek, self.tell = file.seek, file.tell

    def read(self, count: int) -> bytes:
        if not 0 <= count <= max(self._most, tarfile.BLOCKSIZE):
            raise BadRecordFile(
                f"{self._name}: before byte {self._file.tell()} a header says that more of it follows, {count} bytes; "
                f"expected at most {self._most}; the tar is damaged"
            )
        return self._file.read(count)


def _require_inside(member: tarfile.TarInfo, size: int, name: str) -> None:
    """Reject a member with an invalid size or an end beyond the file: the next member is searched there."""
    if not member.isreg() and member.type in tarfile.SUPPORTED_TYPES:
        return  # these types have no data
    there = size - member.offset_data
    if not 0 <= member.size <= there:
        raise BadRecordFile(
            f"{name}: {member.name!r} at byte {member.offset} is said to be of {member.size} bytes, and {there} follow"
            "; the tar is damaged or was cut"
        )


def _checksum(file: BinaryIO, member: tarfile.TarInfo, name: str) -> int:
    file.seek(member.offset_data)
    data = file.read(member.size)
    if len(data) != member.size:
        raise BadRecordFile(f"{name}: {member.name!r} ends after {len(data)} of {member.size} bytes; the tar was cut")
    return crc32c(data)


def _samples_of_lines(file: BinaryIO, name: str, field: str) -> Iterator[Sample]:
    offset = 0
    while line := file.readline(MAX_LINE_BYTES):
        text = line.rstrip(b"\r\n")
        if len(line) == MAX_LINE_BYTES and len(text) == len(line):
            raise BadRecordFile(f"{name}: the line at byte {offset} has {MAX_LINE_BYTES} bytes or more")
        if text.strip():  # skip empty lines
            yield Sample("", [Part(field, offset, len(text), crc32c(text))])
        offset += len(line)
