"""Artifacts over HTTP: what is checked, what races, what is refused."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import KINDS
from tests.support.stores import S3Servers, make_objects
from tests.support.world import Api, World

from danlu.content.ids import new_artifact_id
from danlu.content.packs import pack, unpack
from danlu.store.objects.blobs import Blobs


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def begin(api: Api, **more: Any) -> str:
    made = new_artifact_id()
    api.json("POST", "/artifacts/uploads", json={"artifact": made, "name": "model", **more})
    return made


def packed(*chunks: bytes) -> bytes:
    return pack([{"sha256": digest(data), "size": len(data)} for data in chunks], chunks)


def manifest(*chunks: bytes) -> dict[str, Any]:
    whole = b"".join(chunks)
    file = {"path": "x", "size": len(whole), "sha256": digest(whole)}
    return {"format": 1, "files": [{**file, "chunks": [[digest(data), len(data)] for data in chunks]}]}


def commit(api: Api, upload: str, *chunks: bytes, **more: Any) -> Any:
    body = json.dumps({"manifest": manifest(*chunks), **more}).encode()
    return api("POST", f"/artifacts/uploads/{upload}/commit", content=body)


class TestUpload:
    def test_only_what_is_lacking_is_asked_for(self, api: Api) -> None:
        upload = begin(api)
        asked = {"digests": [digest(b"a"), digest(b"b"), digest(b"a")]}
        path = f"/artifacts/uploads/{upload}/lacking"
        assert api.json("POST", path, json=asked) == {"lacking": sorted([digest(b"a"), digest(b"b")])}
        assert api.json("POST", f"/artifacts/uploads/{upload}/chunks", content=packed(b"a")) == {"num_stored": 1}
        assert api.json("POST", path, json=asked) == {"lacking": [digest(b"b")]}

    def test_before_the_commit_there_is_nothing(self, api: Api) -> None:
        upload = begin(api)
        api.json("POST", f"/artifacts/uploads/{upload}/chunks", content=packed(b"a"))
        assert api.json("GET", "/artifacts")["items"] == []
        assert api("GET", f"/artifacts/versions/{upload}").status_code == 404
        refused = commit(api, upload, b"a", b"b")
        assert (refused.status_code, refused.json()["error"]) == (409, "Conflict")
        assert "1 of 2 chunks have not arrived" in refused.json()["message"]
        assert api.json("GET", "/artifacts")["items"] == []

    def test_a_commit_twice_is_one_version(self, api: Api) -> None:
        upload = begin(api)
        api.json("POST", f"/artifacts/uploads/{upload}/chunks", content=packed(b"a"))
        first, second = commit(api, upload, b"a"), commit(api, upload, b"a")
        assert first.json() == second.json()
        again = api.json("POST", "/artifacts/uploads", json={"artifact": upload, "name": "model"})
        assert again["version"] == first.json()

    def test_an_id_of_others_is_refused(self, world: World, api: Api) -> None:
        upload = begin(api)
        api.json("POST", f"/artifacts/uploads/{upload}/chunks", content=packed(b"a"))
        commit(api, upload, b"a")
        ann = world.add_user("ann", "vision")
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(ann)) as other:
            for known in (upload, begin(api)):
                answer = other("POST", "/artifacts/uploads", json={"artifact": known, "name": "mine"})
                assert answer.status_code in (404, 409), answer.text

    @pytest.mark.parametrize(
        ("body", "told"),
        [
            (b"", "length of its header"),
            (pack([{"sha256": digest(b"a")}], [b"a"]), "cannot be read"),
            (pack([{"sha256": "x", "size": 1}], [b"a"]), "64 hexadecimal digits"),
            (pack([{"sha256": digest(b"a"), "size": 2}], [b"a"]), "2 bytes by its header, and 1 came"),
            (pack([{"sha256": digest(b"a"), "size": 0}], []), "expected 1 to"),
            (pack([{"sha256": digest(b"b"), "size": 1}], [b"a"]), "expected sha256"),
        ],
    )
    def test_packs_that_are_wrong(self, api: Api, body: bytes, told: str) -> None:
        upload = begin(api)
        answer = api("POST", f"/artifacts/uploads/{upload}/chunks", content=body)
        assert answer.status_code == 422
        assert told in answer.json()["message"]

    def test_sizes_must_be_those_of_the_bytes(self, api: Api) -> None:
        upload = begin(api)
        api.json("POST", f"/artifacts/uploads/{upload}/chunks", content=packed(b"ab"))
        wrong = manifest(b"ab")
        wrong["files"][0].update(size=1, chunks=[[digest(b"ab"), 1]])
        body = json.dumps({"manifest": wrong}).encode()
        answer = api("POST", f"/artifacts/uploads/{upload}/commit", content=body)
        assert (answer.status_code, answer.json()["message"]) == (
            422,
            f"manifest: the chunk {digest(b'ab')} has 2 bytes, not 1",
        )

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            (b"{", "body"),
            (b'{"manifest": []}', "manifest"),
            (b'{"manifest": {"format": 1, "files": [{"path": "../x"}]}}', "manifest"),
            (b'{"manifest": {"format": 1}, "labels": 3}', "labels"),
            (b'{"manifest": {"format": 1}, "aliases": ["latest"]}', "aliases"),
        ],
    )
    def test_commits_that_are_wrong(self, api: Api, body: bytes, field: str) -> None:
        answer = api("POST", f"/artifacts/uploads/{begin(api)}/commit", content=body)
        assert answer.status_code == 422
        assert list(answer.json()["fields"]) == [field]


@pytest.mark.parametrize("database_kind", KINDS)
def test_numbers_given_at_once_are_all_different(world: World, api: Api, database_kind: str) -> None:
    uploads = [begin(api) for _ in range(8)]
    api.json("POST", f"/artifacts/uploads/{uploads[0]}/chunks", content=packed(b"a"))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda upload: commit(api, upload, b"a").json(), uploads))
    assert sorted(one["version"] for one in answers) == list(range(1, 9))


class TestReading:
    def test_chunks_come_as_a_pack_that_may_be_shorter(self, api: Api) -> None:
        upload = begin(api)
        chunks = [bytes([number]) * (3 << 20) for number in range(12)]
        for first in range(0, 12, 6):
            api.json("POST", f"/artifacts/uploads/{upload}/chunks", content=packed(*chunks[first : first + 6]))
        commit(api, upload, *chunks)
        asked = {"digests": [digest(data) for data in chunks]}
        header, rest = unpack(api("POST", f"/artifacts/versions/{upload}/chunks", json=asked).content)
        assert [item["sha256"] for item in header] == asked["digests"][:10], "32 MiB at most"
        assert rest[: 3 << 20] == chunks[0]

    def test_chunks_may_lie_in_s3(self, world: World, api: Api, s3_servers: S3Servers, tmp_path: Path) -> None:
        object.__setattr__(world.state, "blobs", Blobs(make_objects("rclone", s3_servers, tmp_path), world.database))
        upload = begin(api)
        chunks = [bytes([number]) * 300_000 for number in range(8)]
        api.json("POST", f"/artifacts/uploads/{upload}/chunks", content=packed(*chunks))
        assert commit(api, upload, *chunks).status_code == 200
        asked = {"digests": [digest(data) for data in chunks]}
        assert api("POST", f"/artifacts/versions/{upload}/chunks", json=asked).content == packed(*chunks)
        assert api("DELETE", f"/artifacts/versions/{upload}").status_code == 204

    def test_what_the_project_never_sent_cannot_be_read(self, api: Api) -> None:
        upload = begin(api)
        commit(api, upload)
        answer = api("POST", f"/artifacts/versions/{upload}/chunks", json={"digests": [digest(b"other")]})
        assert answer.status_code == 404


class TestProjects:
    def test_a_project_with_artifacts_is_not_deleted(self, world: World, api: Api) -> None:
        api.json("POST", "/projects", json={"name": "vision"})
        commit(api, begin(api, project="vision"))
        answer = api("DELETE", "/projects/vision")
        assert answer.status_code == 409
        assert "1 artifact" in answer.json()["message"]

    def test_a_name_in_two_projects_wants_a_word_more(self, world: World, api: Api) -> None:
        api.json("POST", "/projects", json={"name": "vision"})
        for project in ("vision", "default"):
            commit(api, begin(api, project=project))
        answer = api("GET", "/artifacts/named", params={"ref": "model"})
        assert answer.status_code == 409
        assert "name the project" in answer.json()["message"]
        found = api.json("GET", "/artifacts/named", params={"ref": "model", "project": "vision"})
        assert found["project"] == "vision"
        listed = api.json("GET", "/artifacts", params={"project": "vision"})["items"]
        assert [one["project"] for one in listed] == ["vision"]


class TestPaging:
    def test_all_are_there_once(self, api: Api) -> None:
        for number in range(5):
            commit(api, begin(api, name=f"m{number % 2}"))
        for path, query, total in (("/artifacts", {}, 2), ("/artifacts/versions", {"name": "m0"}, 3)):
            seen, cursor = [], None
            while True:
                page = api.json("GET", path, params={**query, "limit": 1, **({"cursor": cursor} if cursor else {})})
                seen += [json.dumps(item) for item in page["items"]]
                cursor = page["next"]
                if cursor is None:
                    break
            assert len(seen) == len(set(seen)) == total
        assert api("GET", "/artifacts", params={"cursor": "x"}).status_code == 422
