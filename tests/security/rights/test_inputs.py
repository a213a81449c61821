"""Artifacts and models of others as inputs: a name finds a row, and gives no right to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from tests.support.attack import Sides, put_object, told
from tests.support.scene import commit_of_chunk, pack_of_chunk
from tests.support.world import Api

from danlu.content.ids import new_artifact_id

Tokens = Callable[[str], Api]


@pytest.fixture
def version(sides: Sides) -> str:
    """An artifact of vision."""
    made = new_artifact_id()
    sides.ada.json("POST", "/artifacts/uploads", json={"artifact": made, "name": "weights"})
    assert sides.ada("POST", f"/artifacts/uploads/{made}/chunks", content=pack_of_chunk()).status_code == 200
    assert sides.ada("POST", f"/artifacts/uploads/{made}/commit", content=commit_of_chunk()).status_code == 200
    return made


@pytest.fixture
def tokens(sides: Sides) -> Iterator[Tokens]:
    """What running jobs ask the server with."""
    with ExitStack() as stack:
        yield lambda job_id: stack.enter_context(sides.token(job_id))


def submit(side: Api, source: str) -> tuple[int, str]:
    body = {"spec": {"name": "thief", "command": "true", "data": {source: "in"}}}
    return told(side("POST", "/jobs", json=body))


def test_names_and_ids_of_others_are_not_found(sides: Sides, version: str) -> None:
    put_object(sides.ada, "vision/data/secret")
    model = sides.ada.json("POST", "/models", json={"name": "cnn", "path": "store://vision/data/secret"})
    for source in ("artifact:weights", f"artifact:{version}", "model:cnn", f"model:{model['id']}", "model:vision/cnn"):
        status, message = submit(sides.eve, source)
        assert (status, "no artifact" in message or "no model" in message) == (422, True), (source, message)


def test_a_job_reads_what_it_names_and_nothing_else(sides: Sides, version: str, tokens: Tokens) -> None:
    with_it = tokens(sides.started("ada", data={"artifact:weights:latest": "in"}))
    without, of_eve = tokens(sides.started("ada")), tokens(sides.started("eve"))
    paths = (f"/artifacts/versions/{version}", f"/artifacts/versions/{version}/manifest")
    assert [with_it("GET", path).status_code for path in paths] == [200, 200]
    assert with_it("GET", "/artifacts/named?ref=weights:latest").json()["id"] == version
    assert with_it("GET", "/artifacts/named?ref=weights:1").json()["id"] == version
    assert with_it("GET", "/artifacts/named?ref=weights:2").status_code == 404
    assert with_it("PATCH", f"/artifacts/versions/{version}", json={"aliases": ["mine"]}).status_code == 403
    assert with_it("DELETE", f"/artifacts/versions/{version}").status_code == 403
    for token in (without, of_eve):
        assert {token("GET", path).status_code for path in paths} == {404}
        assert token("GET", "/artifacts/named?ref=weights:1").status_code == 404


def test_who_leaves_the_project_takes_the_input_from_their_jobs(sides: Sides, version: str, tokens: Tokens) -> None:
    sides.ada.json("POST", "/projects/vision/invitations", json={"user": "eve", "role": "member"})
    invitation = sides.eve.json("GET", "/invitations")["items"][0]
    assert sides.eve("POST", f"/invitations/{invitation['id']}/accept").status_code < 300
    token = tokens(sides.started("eve", project="evil", data={f"artifact:{version}": "in"}))
    path = f"/artifacts/versions/{version}/manifest"
    assert token("GET", path).status_code == 200
    assert sides.ada("DELETE", "/projects/vision/members/eve").status_code < 300
    assert token("GET", path).status_code == 404
