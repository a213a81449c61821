"""Uploads in pieces: taken up where they broke off, whole or not at all, and nobody else's."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from tests.support.world import Api, World

DATA = bytes(range(256)) * 40
DIGEST = hashlib.sha256(DATA).hexdigest()


def begin(api: Api, key: str = "big.bin", **changes: Any) -> Any:
    body = {"key": key, "size": len(DATA), "sha256": DIGEST, **changes}
    return api.json("POST", "/buckets/main/uploads", json=body)


def test_pieces_become_one_object(api: Api) -> None:
    upload = begin(api)
    first = api.json("PUT", f"/uploads/{upload['id']}?offset=0", content=DATA[:5000])
    assert first["offset"] == 5000
    assert api("GET", "/buckets/main/objects/big.bin").status_code == 404
    assert begin(api) == {**upload, "offset": 5000}, "the same again takes the earlier one up"
    api.json("PUT", f"/uploads/{upload['id']}?offset=4000", content=DATA[4000:])
    done = api.json("POST", f"/uploads/{upload['id']}/commit")
    assert (done["size"], done["sha256"]) == (len(DATA), DIGEST)
    assert api("GET", "/buckets/main/objects/big.bin").content == DATA
    assert api("GET", f"/uploads/{upload['id']}").status_code == 404


@pytest.mark.parametrize(
    ("offset", "content", "status", "told"),
    [
        (7, b"x", 409, "0 bytes have arrived; continue from there, not from 7"),
        (0, DATA + b"x", 413, "more than the announced 10240 bytes arrived"),
    ],
)
def test_pieces_that_do_not_fit(api: Api, offset: int, content: bytes, status: int, told: str) -> None:
    upload = begin(api)
    response = api("PUT", f"/uploads/{upload['id']}?offset={offset}", content=content)
    assert (response.status_code, response.json()["message"]) == (status, told)


def test_half_an_upload_cannot_be_committed(api: Api) -> None:
    upload = begin(api)
    api("PUT", f"/uploads/{upload['id']}?offset=0", content=DATA[:10])
    response = api("POST", f"/uploads/{upload['id']}/commit")
    assert (response.status_code, response.json()["message"]) == (
        409,
        "10 of 10240 bytes have arrived; continue from there",
    )


def test_wrong_bytes_are_refused_and_forgotten(world: World, api: Api) -> None:
    upload = begin(api)
    api("PUT", f"/uploads/{upload['id']}?offset=0", content=b"x" * len(DATA))
    assert api("POST", f"/uploads/{upload['id']}/commit").json()["error"] == "BadChecksum"
    assert api.json("GET", "/buckets/main/objects")["objects"] == []
    assert begin(api)["offset"] == 0
    assert list((world.settings.server_dir / "uploads").glob("*")) == []


def test_an_aborted_upload_leaves_nothing(world: World, api: Api) -> None:
    upload = begin(api)
    api("PUT", f"/uploads/{upload['id']}?offset=0", content=DATA[:10])
    assert api("DELETE", f"/uploads/{upload['id']}").status_code == 204
    assert list((world.settings.server_dir / "uploads").glob("*")) == []


def test_an_empty_object(api: Api) -> None:
    upload = begin(api, size=0, sha256=hashlib.sha256(b"").hexdigest())
    assert api.json("POST", f"/uploads/{upload['id']}/commit")["size"] == 0


def test_nobody_elses_upload_can_be_touched(world: World, api: Api) -> None:
    upload = begin(api)
    job_id = world.started()
    url = str(api.http.base_url).removesuffix("/api/v1/")
    eve = world.add_user("eve", "other")
    for key in (world.job_token(job_id), world.api_key(eve)):
        with Api(url, key) as other:
            for method, path in (("GET", ""), ("PUT", "?offset=0"), ("POST", "/commit"), ("DELETE", "")):
                response = other(method, f"/uploads/{upload['id']}{path}")
                assert response.json()["error"] == "NotFound", f"{method} {path}"


def test_a_job_begins_uploads_below_its_output_only(world: World, api: Api) -> None:
    job_id = world.started()
    with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.job_token(job_id)) as token:
        assert begin(token, f"jobs/{job_id}/model.pt")["offset"] == 0
        body = {"key": "other/model.pt", "size": 1, "sha256": DIGEST}
        assert token("POST", "/buckets/main/uploads", json=body).json()["error"] == "NotAllowed"
