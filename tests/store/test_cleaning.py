"""What clean-up finds, and what it leaves alone."""

from __future__ import annotations

import hashlib
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import KINDS
from tests.support.stores import S3Servers, make_objects
from tests.support.world import Api, World

from danlu.errors import NotFound
from danlu.server.stores import cleaning_places
from danlu.spec.paths import StorePath
from danlu.store.upkeep.cleaning import find_leftovers
from danlu.store.upkeep.leftovers import Kind, Leftover, Places


@pytest.fixture(params=KINDS)
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def places(world: World) -> Places:
    made = cleaning_places(world.settings.model_copy(update={"log_days": 30}), world.database)
    return Places(**{**made.__dict__, "now": world.clock})


def found(places: Places, kind: Kind) -> list[Leftover]:
    return [leftover for leftover in find_leftovers(places) if leftover.kind is kind]


def make_old(path: Path) -> Path:
    long_ago = time.time() - 2 * 86400
    os.utime(path, (long_ago, long_ago))
    return path


def send_tree(api: Api, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    body: dict[str, Any] = {"files": [{"path": "main.py", "sha256": digest, "size": len(data)}]}
    if api.json("POST", "/trees", json=body)["missing"]:
        assert api("PUT", f"/blobs/{digest}", content=data).status_code == 204
    answer = api.json("POST", "/trees", json=body)
    assert answer["missing"] == []
    return str(answer["digest"])


def test_nothing_is_found_where_all_is_in_use(world: World, api: Api, places: Places) -> None:
    world.submit(code={"tree": send_tree(api, b"print(1)")})
    api.json("POST", "/buckets/main/uploads", json={"key": "big", "size": 10, "sha256": "0" * 64})
    world.clock.pass_seconds(3 * 86400)
    assert list(find_leftovers(places)) == []


def test_uploads_nobody_went_on_with(world: World, api: Api, places: Places) -> None:
    upload = api.json("POST", "/buckets/main/uploads", json={"key": "big", "size": 10, "sha256": "0" * 64})
    api("PUT", f"/uploads/{upload['id']}?offset=0", content=b"12345")
    lost = world.settings.server_dir / "uploads" / ("f" * 32)
    lost.write_bytes(b"x" * 7)
    assert found(places, Kind.UPLOAD) == []
    make_old(lost)
    world.clock.pass_seconds(8 * 86400)
    leftovers = found(places, Kind.UPLOAD)
    assert {(leftover.name, leftover.size) for leftover in leftovers} == {("store://main/big", 5), (str(lost), 7)}
    for leftover in leftovers:
        leftover.remove()
    assert found(places, Kind.UPLOAD) == []
    assert api("GET", f"/uploads/{upload['id']}").status_code == 404


def test_files_that_never_became_objects(world: World, places: Places) -> None:
    (world.settings.objects_dir / "main" / "x").mkdir(parents=True)
    half = world.settings.objects_dir / "main" / "x" / ".partial.abc"
    half.write_bytes(b"half")
    assert found(places, Kind.PARTIAL) == [], "somebody may be at it"
    make_old(half)
    (leftover,) = found(places, Kind.PARTIAL)
    leftover.remove()
    assert not half.exists()


class TestBlobs:
    def test_only_what_no_job_refers_to_goes(self, world: World, api: Api, places: Places) -> None:
        used, unused = send_tree(api, b"print('used')"), send_tree(api, b"print('unused')")
        world.submit(code={"tree": used})
        assert found(places, Kind.BLOB) == []
        world.clock.pass_seconds(15 * 86400)
        leftovers = found(places, Kind.BLOB)
        assert {leftover.name for leftover in leftovers} == {unused, hashlib.sha256(b"print('unused')").hexdigest()}
        for leftover in leftovers:
            leftover.remove()
        assert api("GET", f"/trees/{unused}").status_code == 404
        assert api("GET", f"/trees/{used}").status_code == 200
        assert send_tree(api, b"print('unused')") == unused, "it can be sent again"

    def test_what_a_template_refers_to_stays(self, world: World, api: Api, places: Places) -> None:
        tree = send_tree(api, b"print('template')")
        made = api.json("POST", "/templates", json={"name": "a", "spec": {"code": {"tree": tree}}})
        world.clock.pass_seconds(15 * 86400)
        assert found(places, Kind.BLOB) == []
        api("DELETE", f"/templates/{made['id']}")
        assert tree in {leftover.name for leftover in found(places, Kind.BLOB)}

    def test_what_is_sent_again_meanwhile_stays(self, world: World, api: Api, places: Places) -> None:
        tree = send_tree(api, b"print(1)")
        world.clock.pass_seconds(15 * 86400)
        leftovers = found(places, Kind.BLOB)
        assert send_tree(api, b"print(1)") == tree
        for leftover in leftovers:
            leftover.remove()
        assert api("GET", f"/trees/{tree}").status_code == 200

    def test_what_a_new_job_refers_to_stays(self, world: World, api: Api, places: Places) -> None:
        tree = send_tree(api, b"print(1)")
        world.clock.pass_seconds(15 * 86400)
        leftovers = found(places, Kind.BLOB)
        assert len(leftovers) == 2
        world.submit(code={"tree": tree})
        for leftover in leftovers:
            leftover.remove()
        assert api("GET", f"/trees/{tree}").status_code == 200
        assert api("GET", f"/blobs/{hashlib.sha256(b'print(1)').hexdigest()}").status_code == 200


def test_logs_that_are_old_and_logs_of_deleted_jobs(world: World, places: Places) -> None:
    job = world.started()
    world.engine.task(job).log += b"hello\n"
    world.tick()
    world.engine.finish(job)
    world.tick(2)
    assert found(places, Kind.OLD_LOG) == []
    lost = world.settings.server_dir / "logs" / "train-0"
    (lost / "1" / "0").mkdir(parents=True)
    (lost / "1" / "0" / "x.log").write_bytes(b"12")
    make_old(lost)
    (gone,) = found(places, Kind.LOST_LOG)
    assert (gone.name, gone.size) == ("train-0", 2)
    gone.remove()
    assert not lost.exists()
    world.clock.pass_seconds(31 * 86400)
    (old,) = found(places, Kind.OLD_LOG)
    assert (old.name, old.size) == (f"{job} attempt 1", 6)
    old.remove()
    assert found(places, Kind.OLD_LOG) == []


def test_parts_that_a_service_keeps_for_nobody(
    world: World, places: Places, s3_servers: S3Servers, tmp_path: Path
) -> None:
    objects = make_objects("rclone", s3_servers, tmp_path)
    grants = objects.grants()
    assert grants is not None
    path = StorePath("main", "big")
    upload = grants.begin(path, "0" * 64)
    at_service = Places(**{**places.__dict__, "objects": objects, "now": lambda: _far(0)})
    assert found(at_service, Kind.UPLOAD) == []
    at_service = Places(**{**at_service.__dict__, "now": lambda: _far(2)})
    (leftover,) = found(at_service, Kind.UPLOAD)
    assert leftover.name == "parts of main/big at the object service"
    leftover.remove()
    with pytest.raises(NotFound):
        grants.parts(path, upload)


def _far(days: int) -> Any:
    from danlu.scheduler.context import utc_now

    return utc_now() + timedelta(days=days)
