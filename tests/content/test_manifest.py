"""The manifest: one form for one content, and a sentence for everything that is wrong."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from danlu.content.manifest import Chunk, File, Manifest, Reference, digest_of, read_manifest
from danlu.content.names import Named, check_alias, check_artifact_name, parse_named

A, B = "a" * 64, "b" * 64
WHOLE = Manifest(
    (
        File("z/模型.pt", 3, A, (Chunk(A, 1), Chunk(B, 2))),
        File("run.sh", 0, A, (), is_executable=True),
    ),
    (Reference("data", "s3://bucket/data/", 12, "md5:x"), Reference("code", "https://host/x")),
)
GOLDEN = (
    '{"format":1,"files":[{"path":"run.sh","size":0,"sha256":"AAA","chunks":[],"is_executable":true},'
    '{"path":"z/模型.pt","size":3,"sha256":"AAA","chunks":[["AAA",1],["BBB",2]]}],'
    '"references":[{"path":"code","uri":"https://host/x"},'
    '{"path":"data","uri":"s3://bucket/data/","size":12,"checksum":"md5:x"}]}'
)


class TestForm:
    def test_it_is_the_same_for_ever(self) -> None:
        golden = GOLDEN.replace("AAA", A).replace("BBB", B).encode()
        assert WHOLE.to_json() == golden
        assert read_manifest(golden).to_json() == golden
        assert digest_of(golden) == digest_of(WHOLE.to_json())

    def test_a_file_of_several_chunks_may_be_named_by_them(self) -> None:
        golden = GOLDEN.replace('"size":3,"sha256":"AAA"', '"size":3').replace('"format":1', '"format":2')
        golden = golden.replace("AAA", A).replace("BBB", B)
        files = (WHOLE.files[0]._replace(sha256=None), WHOLE.files[1])
        assert WHOLE._replace(files=files).to_json() == golden.encode()
        assert read_manifest(golden.encode()).to_json() == golden.encode()
        assert files[0].mark not in (files[0]._replace(chunks=(Chunk(B, 2), Chunk(A, 1))).mark, A, B)

    def test_empty_folders_are_named_when_there_are_some(self) -> None:
        with_folders = WHOLE._replace(folders=("logs/b", "logs/a"))
        assert with_folders.to_json().endswith(b',"folders":["logs/a","logs/b"]}')
        assert read_manifest(with_folders.to_json()).folders == ("logs/a", "logs/b")

    def test_what_it_adds_up_to(self) -> None:
        assert (WHOLE.size, WHOLE.chunks()) == (3, {A: 1, B: 2})


def file(**changes: Any) -> dict[str, Any]:
    return {"path": "x", "size": 1, "sha256": A, "chunks": [[A, 1]], **changes}


class TestWrong:
    @pytest.mark.parametrize(
        ("values", "told"),
        [
            ([], "format"),
            ({"format": 3}, "format"),
            ({"format": 1, "files": {}}, "'files' is no list"),
            ({"format": 1, "files": [{}]}, "files[0] has no 'path'"),
            ({"format": 1, "files": [file(path="../x")]}, "not below the artifact"),
            ({"format": 1, "files": [file(path="/x")]}, "not below the artifact"),
            ({"format": 1, "files": [file(path="a//b")]}, "not below the artifact"),
            ({"format": 1, "files": [file(path="a\\b")]}, "backslash"),
            ({"format": 1, "files": [file(path="x" * 1025)]}, "1025 bytes"),
            ({"format": 1, "files": [file(size=2)]}, "its chunks add up to 1"),
            ({"format": 1, "files": [file(size=True)]}, "its chunks add up to 1"),
            ({"format": 1, "files": [file(sha256="A")]}, "64 hexadecimal digits"),
            ({"format": 1, "files": [file(chunks=[[A]])]}, "expected [digest, size]"),
            ({"format": 1, "files": [file(chunks=[[A, 0]], size=0)]}, "a chunk of 0 bytes"),
            ({"format": 1, "files": [file(chunks=[[A, 5 << 20]], size=5 << 20)]}, "a chunk of 5242880 bytes"),
            ({"format": 1, "files": [file(), file()]}, "'x' is in the artifact twice"),
            ({"format": 1, "files": [file(), file(path="x/y")]}, "is a file and, for 'x/y', a folder"),
            ({"format": 1, "files": [file(), file(path="y", size=2, chunks=[[A, 2]])]}, "has two sizes"),
            ({"format": 1, "references": [{"path": "x", "uri": "nothing"}]}, "is no URI"),
            ({"format": 1, "references": [{"path": "x", "uri": "a:b", "size": -1}]}, "a number of bytes"),
            ({"format": 1, "files": [file()], "references": [{"path": "x", "uri": "a:b"}]}, "twice"),
            ({"format": 1, "folders": ["../x"]}, "folders[0]: '../x' cannot be a path in an artifact"),
            ({"format": 1, "files": [file()], "folders": ["x"]}, "twice"),
            ({"format": 1, "files": [file()], "folders": ["x/y"]}, "is a file and, for 'x/y', a folder"),
        ],
    )
    def test_it_is_named(self, values: Any, told: str) -> None:
        with pytest.raises(ValueError, match=re.escape(told)):
            read_manifest(json.dumps(values).encode())

    @pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b"\xff"])
    def test_what_is_no_json(self, data: bytes) -> None:
        with pytest.raises(ValueError, match="no JSON"):
            read_manifest(data)


class TestNames:
    @pytest.mark.parametrize("name", ["a", "mnist-model", "vision/mnist_model.v2", "数据/清洗", "0"])
    def test_good(self, name: str) -> None:
        assert check_artifact_name(name) == name

    @pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "a:3", "-a", ".a", "a b", "a\n", "a" * 201, "a/../b"])
    def test_bad(self, name: str) -> None:
        with pytest.raises(ValueError, match="cannot be the name of an artifact"):
            check_artifact_name(name)

    def test_versions(self) -> None:
        assert parse_named("m") == parse_named("m:latest") == Named("m")
        assert parse_named("a/m:3") == parse_named("a/m:v3") == Named("a/m", version=3)
        assert parse_named("m:best") == Named("m", alias="best")
        for wrong in ("m:", "m:-1", "m:3:4", "m:a b"):
            with pytest.raises(ValueError, match="such as m:3"):
                parse_named(wrong)

    @pytest.mark.parametrize("alias", ["", "latest", "3", "-", "a b"])
    def test_aliases_that_would_mean_something_else(self, alias: str) -> None:
        with pytest.raises(ValueError, match="cannot be an alias"):
            check_alias(alias)
