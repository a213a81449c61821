"""Write samples of any fields as tars, readable by WebDataset and others, and their index."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from danlu_accel.records.crc32c import crc32c
from danlu_accel.records.files import Name, whole_file
from danlu_accel.records.index import Shard
from danlu_accel.samples.index import SampleIndex, write_sample_index
from danlu_accel.samples.indexing import KEY_AND_FIELD, IndexBuilder, Part, Sample


def pack_samples(name: Name, samples: Iterable[Mapping[str, Any]], *, shard_megabytes: int = 256) -> SampleIndex:
    """Write `<name>-00000.tar` and so on, and the index `<name>.samples`. `name` may begin with a folder.

    A sample is a dict of fields: bytes, text, whole numbers (`cls`), arrays (`npy`), any JSON value (`json`). The
    suffix determines how a field is read, see decoding.py. `__key__` names the sample; by default its number does.
    """
    if shard_megabytes < 1:
        raise ValueError(f"shard_megabytes: expected at least 1, got {shard_megabytes}")
    target = Path(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    builder = IndexBuilder()
    source = enumerate(samples)
    following = next(source, None)
    num_shards, last_key = 0, ""
    while following is not None:
        path = target.with_name(f"{target.name}-{num_shards:05d}.tar")
        count = 0
        with whole_file(path) as file:
            with tarfile.open(fileobj=file, mode="w:", format=tarfile.PAX_FORMAT) as tar:
                while following is not None and (count == 0 or file.tell() < shard_megabytes << 20):
                    sample = _written(tar, file, *following)
                    if sample.key == last_key:
                        raise ValueError(f"sample {following[0]}: has the key of the one before it, {last_key!r}")
                    last_key = sample.key
                    builder.add_sample(sample)
                    count += 1
                    following = next(source, None)
            size = file.tell()
        builder.close_shard(Shard(path.name, size), count)
        num_shards += 1
    if not num_shards:
        raise ValueError(f"no samples to pack into {str(name)!r}; expected at least one")
    index = builder.finish()
    write_sample_index(target.with_name(f"{target.name}.samples"), index)
    return index


def _written(tar: tarfile.TarFile, file: BinaryIO, number: int, sample: Mapping[str, Any]) -> Sample:
    key = str(sample.get("__key__", f"{number:09d}"))
    parts = []
    for field, value in sample.items():
        if field.startswith("__"):
            continue
        member_name = f"{key}.{field}"
        found = KEY_AND_FIELD.fullmatch(member_name)
        if found is None or found[1] != key or field != field.lower():
            raise ValueError(
                f"sample {number}: expected a key without dots behind its last slash, and fields in lower case without "
                f"slashes, got {key!r} and {field!r}"
            )
        data = _encoded(field, value, number)
        member = tarfile.TarInfo(member_name)
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
        stored = -(-len(data) // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
        parts.append(Part(field, file.tell() - stored, len(data), crc32c(data)))
    if not parts:
        raise ValueError(f"sample {number}: expected at least one field, got {dict(sample)!r}")
    return Sample(key, parts)


def _encoded(field: str, value: Any, number: int) -> bytes:
    kind = field.rpartition(".")[2]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if kind == "json":
        return json.dumps(value, ensure_ascii=False).encode()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (int, np.integer)):
        return str(int(value)).encode()
    if kind == "npy" and isinstance(value, np.ndarray) and not value.dtype.hasobject:
        file = io.BytesIO()
        np.save(file, value, allow_pickle=False)
        return file.getvalue()
    raise ValueError(
        f"sample {number}, field {field!r}: expected bytes, text, a whole number, an array in a field .npy or plain "
        f"data in a field .json, got {type(value).__name__}"
    )
