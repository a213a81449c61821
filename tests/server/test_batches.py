"""Many small files in one request: each is judged by itself."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from tests.support.stores import KINDS, S3Servers, make_objects
from tests.support.world import Api, World

from danlu.content.packs import SMALL_BYTES, pack, unpack
from danlu.spec.paths import StorePath


@pytest.fixture(params=[kind for kind in KINDS if kind != "virtual-host"])
def world(request: pytest.FixtureRequest, world: World, s3_servers: S3Servers) -> World:
    """The same on a folder and on S3."""
    object.__setattr__(world.state, "objects", make_objects(request.param, s3_servers, world.folder))
    return world


def batch(files: dict[str, bytes], **digests: str) -> bytes:
    header = [
        {"key": key, "size": len(data), "sha256": digests.get(key) or hashlib.sha256(data).hexdigest()}
        for key, data in files.items()
    ]
    return pack(header, files.values())


def put(api: Api, body: bytes) -> Any:
    return api.json("POST", "/buckets/main/batches", content=body)


def read(api: Api, *keys: str) -> dict[str, bytes | None]:
    answer = api("POST", "/buckets/main/reads", json={"keys": list(keys)})
    assert answer.status_code == 200, answer.text
    header, rest = unpack(answer.content)
    found: dict[str, bytes | None] = {}
    begin = 0
    for item in header:
        size = item.get("size")
        found[item["key"]] = None if size is None else bytes(rest[begin : begin + size])
        begin += size or 0
        if size is not None:
            assert item["sha256"] == hashlib.sha256(found[item["key"]] or b"").hexdigest()
    return found


def test_what_is_sent_is_read_back(api: Api) -> None:
    files = {"a/1": b"one", "a/2": b"", "é 炉": b"three" * 1000}
    assert put(api, batch(files)) == {"num_stored": 3, "refused": []}
    assert read(api, *files) == files
    assert api("GET", "/buckets/main/objects/a/1").content == b"one"
    assert api("HEAD", "/buckets/main/objects/a/1").headers["X-Danlu-SHA256"] == hashlib.sha256(b"one").hexdigest()


def test_a_file_that_is_refused_does_not_keep_the_others(api: Api) -> None:
    answer = put(api, batch({"good": b"1", "bad": b"2", "../x": b"3"}, bad="0" * 64))
    assert answer["num_stored"] == 1
    assert {item["key"]: item["error"] for item in answer["refused"]} == {"bad": "BadChecksum", "../x": "InvalidInput"}
    assert read(api, "good", "bad") == {"good": b"1", "bad": None}


def test_large_and_missing_objects_are_left_out(api: Api) -> None:
    api("PUT", "/buckets/main/objects/large", content=b"x" * (SMALL_BYTES + 1))
    put(api, batch({"small": b"s"}))
    answer = api("POST", "/buckets/main/reads", json={"keys": ["small", "none", "large"]})
    header, rest = unpack(answer.content)
    assert [item.get("size") for item in header] == [1, None, None]
    assert [item.get("is_missing", False) for item in header] == [False, True, False]
    assert bytes(rest) == b"s"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "begins with the length of its header"),
        (b"\x00\x00\x01\x00[]", "should have 256 bytes, and ends early"),
        (b"\x00\x00\x00\x02{}", "should be a list of objects"),
        (b"\x00\x00\x00\x03[1]", "should be a list of objects"),
        (b"\x00\x00\x00\x02[!", "cannot be read"),
        (batch({"a": b"12"})[:-1], "2 bytes by its header, and 1 came"),
        (
            pack([{"key": "a", "size": -1, "sha256": "0" * 64}], []),
            "0.size: Input should be greater than",
        ),
    ],
)
def test_what_is_no_batch_is_told(api: Api, body: bytes, told: str) -> None:
    answer = api("POST", "/buckets/main/batches", content=body)
    assert answer.status_code == 422
    assert told in answer.json()["message"]


class TestRights:
    def test_a_job_reads_its_data_and_writes_its_output(self, world: World, api: Api) -> None:
        put(api, batch({"in/a": b"a", "other/b": b"b"}))
        job = world.started(data={"store://main/in/": "in"})
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.job_token(job)) as own:
            assert read(own, "in/a") == {"in/a": b"a"}
            assert own("POST", "/buckets/main/reads", json={"keys": ["in/a", "other/b"]}).status_code == 403
            answer = own.json("POST", "/buckets/main/batches", content=batch({f"jobs/{job}/x": b"1", "other/x": b"2"}))
            assert [(item["key"], item["status"]) for item in answer["refused"]] == [("other/x", 403)]
        assert world.state.objects.stat(StorePath("main", f"jobs/{job}/x")).size == 1

    def test_a_stranger_finds_no_bucket(self, world: World, api: Api) -> None:
        put(api, batch({"a": b"secret"}))
        bob = world.api_key(world.add_user("bob", "bobs"))
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), bob) as other:
            assert other("POST", "/buckets/main/reads", json={"keys": ["a"]}).status_code == 404
            answer = other.json("POST", "/buckets/main/batches", content=batch({"a": b"mine"}))
            assert [item["status"] for item in answer["refused"]] == [404]
        assert json.dumps(read(api, "a")["a"].decode()) == '"secret"'  # type: ignore[union-attr]
