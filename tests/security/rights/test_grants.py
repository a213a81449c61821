"""Grants of the object service outlive the bucket that they were given for: they lead to its place, not to its name."""

from __future__ import annotations

import hashlib

import httpx
import pytest
from tests.support.attack import SECRET, Sides, put_object
from tests.support.stores import S3Servers, make_objects

from danlu.store.objects.base import Objects


@pytest.fixture
def objects(sides: Sides, s3_servers: S3Servers) -> Objects:
    made = make_objects("rclone", s3_servers, sides.world.folder)
    object.__setattr__(sides.world.state, "objects", made)
    return made


def replaced(sides: Sides) -> None:
    sides.eve("DELETE", "/buckets/shared/objects?prefix=data")
    assert sides.eve("DELETE", "/buckets/shared").status_code == 204
    sides.ada.json("POST", "/buckets", json={"name": "shared", "project": "vision"})
    put_object(sides.ada, "shared/data/x")


@pytest.mark.usefixtures("objects")
def test_a_grant_to_read_gives_nothing_of_the_next_bucket(sides: Sides) -> None:
    sides.eve.json("POST", "/buckets", json={"name": "shared", "project": "evil"})
    put_object(sides.eve, "shared/data/x", b"own")
    answer = sides.eve("GET", "/buckets/shared/objects/data/x", headers={"X-Danlu-Direct": "1"}, follow_redirects=False)
    assert answer.status_code == 307
    granted = answer.headers["Location"]
    assert httpx.get(granted).content == b"own"
    replaced(sides)
    after = httpx.get(granted)
    assert after.status_code == 404
    assert SECRET not in after.content


@pytest.mark.usefixtures("objects")
def test_a_grant_to_write_changes_nothing_in_the_next_bucket(sides: Sides) -> None:
    sides.eve.json("POST", "/buckets", json={"name": "shared", "project": "evil"})
    body = {"key": "data/x", "size": 3, "sha256": hashlib.sha256(b"bad").hexdigest(), "direct": True}
    upload = sides.eve.json("POST", "/buckets/shared/uploads", json=body)
    assert upload["part_bytes"]
    replaced(sides)
    part = {"number": 1, "md5": "uuS9Kh5LhQ5QmTBl0TVpvg=="}
    assert sides.eve("POST", f"/uploads/{upload['id']}/grants", json={"parts": [part]}).status_code == 404
    assert sides.eve("POST", f"/uploads/{upload['id']}/commit").status_code == 404
    assert sides.ada("GET", "/buckets/shared/objects/data/x").content == SECRET
