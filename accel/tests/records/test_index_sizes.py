"""Sizes and counts that an index names, with a checksum that is right: whoever made it wanted them so."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from danlu_accel.records import BadRecordFile
from danlu_accel.records.crc32c import crc32c
from danlu_accel.records.index import HEADER as IMAGES
from danlu_accel.records.index import read_index
from danlu_accel.samples import pack_samples, read_sample_index
from danlu_accel.samples.index import HEADER as SAMPLES
from danlu_accel.tokens import pack_tokens, read_token_index
from danlu_accel.tokens.index import HEADER as TOKENS

Made = Callable[[str], tuple[Path, struct.Struct, Callable[[Path], Any]]]


@pytest.fixture
def made(tmp_path: Path, packed: Callable[..., Path]) -> Made:
    """Make an index; return it, its header, and what reads it."""

    def make(kind: str) -> tuple[Path, struct.Struct, Callable[[Path], Any]]:
        if kind == "images":
            return packed(4, shards=1), IMAGES, read_index
        if kind == "tokens":
            pack_tokens(tmp_path / "train", [[1, 2, 3]])
            return tmp_path / "train.tokens", TOKENS, read_token_index
        pack_samples(tmp_path / "train", [{"txt": "one"}])
        return tmp_path / "train.samples", SAMPLES, read_sample_index

    return make


def changed(path: Path, header: struct.Struct, change: Callable[[str], str]) -> None:
    """Change the JSON part of an index, and seal it again."""
    raw = path.read_bytes()
    *head, json_bytes, _ = header.unpack_from(raw)
    text = change(raw[header.size : header.size + json_bytes].decode()).encode()
    tables = raw[-(-(header.size + json_bytes) // 64) * 64 :]
    body = text + bytes(-(header.size + len(text)) % 64) + tables
    path.write_bytes(header.pack(*head, len(text), crc32c(body)) + body)


def with_first_shard(**values: Any) -> Callable[[str], str]:
    def change(text: str) -> str:
        about = json.loads(text)
        about["shards"][0].update(values)
        return json.dumps(about)

    return change


@pytest.mark.parametrize("kind", ["images", "samples", "tokens"])
class TestSizes:
    @pytest.mark.parametrize("size", [-1, -(1 << 63), 1 << 63, 1 << 64, 10**400, float("inf"), 1.5, True, "12", None])
    def test_bytes_of_a_shard(self, made: Made, kind: str, size: Any) -> None:
        path, header, read = made(kind)
        changed(path, header, with_first_shard(bytes=size))
        with pytest.raises(BadRecordFile, match=rf"{path.name}: bytes of the shard 'train.*': expected 0 to 2\^63 - 1"):
            read(path)

    def test_unchanged_it_is_read(self, made: Made, kind: str) -> None:
        path, header, read = made(kind)
        changed(path, header, with_first_shard())
        read(path)

    @pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", None, 7])
    def test_a_name_that_leads_elsewhere(self, made: Made, kind: str, name: Any) -> None:
        path, header, read = made(kind)
        changed(path, header, with_first_shard(name=name))
        with pytest.raises(BadRecordFile, match="expected shards beside the index, got the name"):
            read(path)

    @pytest.mark.parametrize("text", ["[" * 100_000, "[]", "{}", '{"shards": 1}', '{"shards": [1]}', "NaN", "\x00"])
    def test_what_is_no_json_of_ours(self, made: Made, kind: str, text: str) -> None:
        path, header, read = made(kind)
        changed(path, header, lambda _: text)
        with pytest.raises(BadRecordFile, match="its JSON part cannot be read"):
            read(path)


@pytest.mark.parametrize(("kind", "name"), [("samples", "samples"), ("tokens", "documents")])
@pytest.mark.parametrize("count", [-1, 2, 1 << 63, 1 << 64, 10**400, float("inf")])
def test_how_many_a_shard_holds(made: Made, kind: str, name: str, count: Any) -> None:
    path, header, read = made(kind)
    changed(path, header, with_first_shard(**{name: count}))
    with pytest.raises(BadRecordFile, match=path.name):
        read(path)


@pytest.mark.parametrize("name", ["bytes_per_token", "key_bytes"])
@pytest.mark.parametrize("value", [-1, 1 << 64, float("inf"), None])
def test_other_numbers(made: Made, name: str, value: Any) -> None:
    path, header, read = made("tokens" if name == "bytes_per_token" else "samples")
    changed(path, header, lambda text: json.dumps({**json.loads(text), name: value}))
    with pytest.raises(BadRecordFile, match=path.name):
        read(path)
