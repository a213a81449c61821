"""A digest says what bytes are, never whose they are: knowing one gives nothing, on both databases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.attack import SECRET, Sides, put_blob, put_tree, sha256, told, tree_of

from danlu.content.ids import new_artifact_id
from danlu.content.manifest import Chunk, File, Manifest
from danlu.content.packs import pack
from danlu.store.sql.tables import BlobOwnerRow

NOBODYS = sha256(b"nobody has sent this")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def secret(sides: Sides) -> str:
    """A file of code that vision has sent."""
    digest = put_blob(sides.ada, SECRET)
    assert put_tree(sides.ada, tree_of(**{"main.py": SECRET}))["missing"] == []
    return digest


def submit(api: Any, tree: str, **spec: Any) -> Any:
    values = {"name": "theft", "command": "cat *", "code": {"tree": tree}, **spec}
    return api("POST", "/jobs", json={"spec": values})


def send_artifact(api: Any, *chunks: bytes) -> str:
    """Begin an upload with these chunks; return its id."""
    upload = new_artifact_id()
    api.json("POST", "/artifacts/uploads", json={"artifact": upload, "name": f"of-{upload[-6:]}"})
    for data in chunks:
        body = pack([{"sha256": sha256(data), "size": len(data)}], [data])
        api.json("POST", f"/artifacts/uploads/{upload}/chunks", content=body)
    return upload


def commit(api: Any, upload: str, digest: str, size: int) -> Any:
    manifest = json.loads(Manifest((File("a", size, digest, (Chunk(digest, size),)),)).to_json())
    return api("POST", f"/artifacts/uploads/{upload}/commit", content=json.dumps({"manifest": manifest}))


class TestTrees:
    def test_a_tree_sent_as_a_plain_blob_gives_no_foreign_file_to_a_job(self, sides: Sides, secret: str) -> None:
        forged = tree_of(**{"stolen.py": SECRET})
        # the very same tree is vision's, so that even its digest is known
        put_blob(sides.eve, forged.to_json())
        status, message = told(submit(sides.eve, forged.digest))
        assert status == 422
        assert message == f"the job cannot be used: code.tree: {forged.digest} is not uploaded; " + (
            "send it with POST /api/v1/trees first"
        )
        assert sides.eve("GET", f"/trees/{forged.digest}").status_code == 404
        assert sides.eve("GET", f"/blobs/{secret}").status_code == 404
        assert sides.eve.json("GET", "/jobs")["items"] == []

    def test_a_job_gets_only_files_that_its_project_has(self, sides: Sides, secret: str) -> None:
        own = put_blob(sides.eve, b"own")
        put_tree(sides.eve, tree_of(**{"main.py": b"own"}))
        job = sides.started("eve", code={"tree": tree_of(**{"main.py": b"own"}).digest})
        with sides.token(job) as token:
            assert token("GET", f"/blobs/{own}").content == b"own"
            assert told(token("GET", f"/blobs/{secret}")) == (403, f"{secret} is not a file of the code of {job}")
            assert token("GET", f"/trees/{tree_of(**{'main.py': SECRET}).digest}").status_code == 403

    def test_rows_that_go_while_the_job_runs_take_its_right_along(self, sides: Sides) -> None:
        """What was checked at submit is checked again at each fetch."""
        digest = put_blob(sides.eve, b"own")
        tree = tree_of(**{"main.py": b"own"})
        put_tree(sides.eve, tree)
        job = sides.started("eve", code={"tree": tree.digest})
        with sides.world.database.writing() as session:
            project = sides.world.identity("eve").default_project
            session.delete(session.get_one(BlobOwnerRow, (project, digest)))
        put_blob(sides.ada, b"own")
        with sides.token(job) as token:
            assert token("GET", f"/blobs/{digest}").status_code == 404

    def test_asking_what_is_missing_tells_nothing_of_others(self, sides: Sides, secret: str) -> None:
        foreign = tree_of(**{"a": SECRET})
        nobodys = tree_of(**{"a": b"nobody has sent this"})
        assert put_tree(sides.eve, foreign) == {"digest": foreign.digest, "missing": [secret]}
        assert put_tree(sides.eve, nobodys) == {"digest": nobodys.digest, "missing": [NOBODYS]}

    def test_a_blob_of_others_is_answered_like_one_that_nobody_has(self, sides: Sides, secret: str) -> None:
        foreign, nobodys = (told(sides.eve("GET", f"/blobs/{digest}")) for digest in (secret, NOBODYS))
        assert foreign == (404, f"no blob {secret}")
        assert nobodys == (404, f"no blob {NOBODYS}")

    def test_a_template_does_not_bring_foreign_code(self, sides: Sides, secret: str) -> None:
        theirs = tree_of(**{"main.py": SECRET}).digest
        body = {"name": "theft", "spec": {"code": {"tree": theirs}}, "is_shared": True}
        status, message = told(sides.eve("POST", "/templates", json=body))
        assert (status, message.split(":")[0]) == (422, "spec.code.tree")

    @pytest.mark.parametrize("content", [b"5", b"null", b'{"a": 1}', b'[["a"]]', b"[[1, 2, 3, 4]]", b"\xff\xfe"])
    def test_what_is_no_tree_is_not_found_and_breaks_nothing(self, sides: Sides, content: bytes) -> None:
        digest = put_blob(sides.eve, content)
        assert sides.eve("GET", f"/trees/{digest}").status_code == 404
        assert submit(sides.eve, digest).status_code == 422

    def test_code_in_another_project_of_ones_own_is_brought_along(self, sides: Sides) -> None:
        """What is allowed goes on: the same person, two projects."""
        sides.admin.json("POST", "/projects", json={"name": "second", "owner": "eve"})
        sides.admin.json("POST", "/buckets", json={"name": "second", "project": "second"})
        put_blob(sides.eve, b"own")
        tree = tree_of(**{"main.py": b"own"})
        put_tree(sides.eve, tree)
        job = sides.started("eve", project="second", code={"tree": tree.digest})
        with sides.token(job) as token:
            assert token("GET", f"/blobs/{sha256(b'own')}").content == b"own"


class TestChunks:
    def test_a_manifest_that_names_a_foreign_chunk_is_refused_like_one_that_nobody_has(self, sides: Sides) -> None:
        send_artifact(sides.ada, SECRET)
        for digest in (sha256(SECRET), NOBODYS):
            upload = send_artifact(sides.eve, b"own")
            status, message = told(commit(sides.eve, upload, digest, len(SECRET)))
            assert status == 409
            assert message.startswith(f"1 of 1 chunks have not arrived, such as {digest};")

    def test_what_others_have_is_lacking(self, sides: Sides) -> None:
        send_artifact(sides.ada, SECRET)
        upload = send_artifact(sides.eve, b"own")
        asked = {"digests": [sha256(SECRET), sha256(b"own"), NOBODYS]}
        found = sides.eve.json("POST", f"/artifacts/uploads/{upload}/lacking", json=asked)
        assert found == {"lacking": sorted([sha256(SECRET), NOBODYS])}

    def test_a_file_of_code_is_not_a_chunk_and_a_chunk_not_a_file_of_code(self, sides: Sides, secret: str) -> None:
        upload = send_artifact(sides.eve, b"own")
        put_blob(sides.eve, b"code")
        assert commit(sides.eve, upload, secret, len(SECRET)).status_code == 409
        send_artifact(sides.ada, b"weights")
        assert put_tree(sides.eve, tree_of(**{"w": b"weights"}))["missing"] == [sha256(b"weights")]

    def test_a_foreign_chunk_is_not_read_through_an_own_version(self, sides: Sides) -> None:
        send_artifact(sides.ada, SECRET)
        upload = send_artifact(sides.eve, b"own")
        assert commit(sides.eve, upload, sha256(b"own"), 3).status_code == 200
        body = {"digests": [sha256(SECRET)]}
        assert sides.eve("POST", f"/artifacts/versions/{upload}/chunks", json=body).status_code == 404
        assert sides.eve("GET", f"/blobs/{sha256(SECRET)}").status_code == 404

    def test_a_job_reads_the_chunks_of_what_it_made_and_not_all_of_its_project(self, sides: Sides) -> None:
        send_artifact(sides.ada, SECRET)
        job = sides.started("ada")
        with sides.token(job) as token:
            upload = send_artifact(token, b"own")
            assert commit(token, upload, sha256(b"own"), 3).status_code == 200
            read = f"/artifacts/versions/{upload}/chunks"
            assert b"own" in token("POST", read, json={"digests": [sha256(b"own")]}).content
            assert token("POST", read, json={"digests": [sha256(SECRET)]}).status_code == 404

    def test_an_upload_of_others_takes_no_chunk_and_becomes_nothing(self, sides: Sides) -> None:
        upload = send_artifact(sides.ada, SECRET)
        body = pack([{"sha256": sha256(b"x"), "size": 1}], [b"x"])
        assert sides.eve("POST", f"/artifacts/uploads/{upload}/chunks", content=body).status_code == 404
        assert commit(sides.eve, upload, sha256(SECRET), len(SECRET)).status_code == 404
