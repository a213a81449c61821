"""Names are taken over: what hung on the old thing does not pass to the new one of its name, on both databases."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.attack import SECRET, Sides, put_object, told
from tests.support.journals import JournalMaker

from danlu.spec.paths import StorePath
from danlu.store.queries import buckets, projects


@pytest.fixture(params=["sqlite", "postgresql"])
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make_bucket(api: Any, name: str, project: str) -> None:
    api.json("POST", "/buckets", json={"name": name, "project": project})


def delete_bucket(api: Any, name: str) -> None:
    response = api("DELETE", f"/buckets/{name}")
    assert response.status_code == 204, response.text


def taken_over(sides: Sides, name: str = "shared") -> None:
    """eve empties and deletes her bucket; ada makes one of the same name and puts something secret into it."""
    sides.eve("DELETE", f"/buckets/{name}/objects?prefix=data")
    delete_bucket(sides.eve, name)
    make_bucket(sides.ada, name, "vision")
    put_object(sides.ada, f"{name}/data/secret")


@pytest.fixture
def reader(sides: Sides) -> str:
    """eve's job, which reads from a bucket of hers."""
    make_bucket(sides.eve, "shared", "evil")
    put_object(sides.eve, "shared/data/own", b"own")
    return sides.started("eve", data={"store://shared/data/": "data"})


WITHOUT_ACCESS = "without `access: read` a job reads those only"


class TestBuckets:
    def test_a_job_reads_nothing_of_the_bucket_that_has_the_name_now(self, sides: Sides, reader: str) -> None:
        with sides.token(reader) as token:
            assert token("GET", "/buckets/shared/objects/data/own").content == b"own"
            taken_over(sides)
            refused = f"store://shared/data/secret is not an input of {reader}; {WITHOUT_ACCESS}"
            assert told(token("GET", "/buckets/shared/objects/data/secret")) == (403, refused)
            assert token("HEAD", "/buckets/shared/objects/data/secret").status_code == 403
            assert token("GET", "/buckets/shared/objects?prefix=data/").status_code == 403
            assert token("POST", "/buckets/shared/reads", json={"keys": ["data/secret"]}).status_code == 403
            assert token("GET", "/buckets/shared/objects/data/own").status_code == 403

    def test_the_next_attempt_does_not_get_it_either(self, sides: Sides, reader: str) -> None:
        taken_over(sides)
        sides.eve.json("POST", f"/jobs/{reader}/stop")
        sides.world.tick(3)
        assert sides.eve.json("GET", f"/jobs/{reader}")["state"] == "stopped"
        refused = "invalid job: data: no bucket 'shared'; `danlu store ls` shows yours"
        assert told(sides.eve("POST", f"/jobs/{reader}/start")) == (422, refused)

    def test_a_bucket_that_moved_away_is_not_read_any_more(self, sides: Sides, reader: str) -> None:
        sides.admin.json("PATCH", "/buckets/shared", json={"project": "vision"})
        with sides.token(reader) as token:
            assert token("GET", "/buckets/shared/objects/data/own").status_code == 403

    def test_whoever_was_removed_from_the_project_reads_nothing_through_a_job(self, sides: Sides) -> None:
        """The right is held against the owner's rights of the moment, not against those at submit."""
        put_object(sides.ada, "vision/data/secret")
        sides.admin.json("PUT", "/projects/vision/members/eve", json={"role": "viewer"})
        job = sides.started("eve", data={"store://vision/data/": "data"})
        with sides.token(job) as token:
            assert token("GET", "/buckets/vision/objects/data/secret").content == SECRET
            assert sides.ada("DELETE", "/projects/vision/members/eve").status_code == 204
            assert token("GET", "/buckets/vision/objects/data/secret").status_code == 403

    def test_an_upload_that_was_begun_before_ends_nowhere(self, sides: Sides) -> None:
        """eve is a member of both projects: she may write to either bucket, but not mix them up."""
        sides.admin.json("PUT", "/projects/vision/members/eve", json={"role": "member"})
        make_bucket(sides.eve, "shared", "evil")
        body = {"key": "data/secret", "size": 3, "sha256": hashlib.sha256(b"bad").hexdigest()}
        upload = sides.eve.json("POST", "/buckets/shared/uploads", json=body)["id"]
        sides.eve.json("PUT", f"/uploads/{upload}?offset=0", content=b"bad")
        taken_over(sides)
        assert sides.eve("POST", f"/uploads/{upload}/commit").status_code == 409
        assert sides.ada("GET", "/buckets/shared/objects/data/secret").content == SECRET

    def test_a_body_that_is_still_coming_does_not_land_in_the_new_bucket(self, sides: Sides) -> None:
        sides.admin.json("PUT", "/projects/vision/members/eve", json={"role": "member"})
        make_bucket(sides.eve, "shared", "evil")

        def body() -> Iterator[bytes]:
            yield b"ba"
            taken_over(sides)
            yield b"d"

        with sides.person("eve") as second:
            response = second("PUT", "/buckets/shared/objects/data/secret", content=body())
        assert response.status_code == 409
        assert sides.ada("GET", "/buckets/shared/objects/data/secret").content == SECRET

    def test_a_demoted_member_cannot_end_an_upload_that_takes_long(self, sides: Sides) -> None:
        put_object(sides.ada, "vision/data/secret")
        sides.admin.json("PUT", "/projects/vision/members/eve", json={"role": "member"})

        def body() -> Iterator[bytes]:
            yield b"ba"
            sides.ada.json("PUT", "/projects/vision/members/eve", json={"role": "viewer"})
            yield b"d"

        with sides.person("eve") as second:
            response = second("PUT", "/buckets/vision/objects/data/secret", content=body())
        assert response.status_code == 403
        assert sides.ada("GET", "/buckets/vision/objects/data/secret").content == SECRET

    def test_objects_that_stayed_behind_are_not_in_the_new_bucket(self, sides: Sides) -> None:
        """Even bytes that came at the very moment of the deletion lie in a place of their own."""
        make_bucket(sides.eve, "shared", "evil")
        delete_bucket(sides.eve, "shared")
        writer = sides.world.state.objects.put(StorePath("shared", "data/late"))
        writer.write(b"late")
        writer.commit(None)
        make_bucket(sides.ada, "shared", "vision")
        assert sides.ada.json("GET", "/buckets/shared/objects")["objects"] == []
        put_object(sides.ada, "shared/data/secret")
        assert sides.ada("GET", "/buckets/shared/objects/data/secret").content == SECRET

    def test_a_bucket_called_like_the_place_of_another_one_is_not_that_place(self, sides: Sides) -> None:
        make_bucket(sides.eve, "shared", "evil")
        delete_bucket(sides.eve, "shared")
        make_bucket(sides.ada, "shared", "vision")
        put_object(sides.ada, "shared/data/secret")
        with sides.world.database.reading() as session:
            row = buckets.get_bucket(session, "shared")
            assert row is not None
            place = row.place
        assert place != "shared"
        make_bucket(sides.eve, place, "evil")
        assert sides.eve.json("GET", f"/buckets/{place}/objects")["objects"] == []

    def test_the_data_flow_of_the_old_bucket_is_not_shown_to_the_new_owner(self, sides: Sides, reader: str) -> None:
        taken_over(sides)
        job = sides.started("ada", data={"store://shared/data/": "data"})
        found = sides.ada.json("GET", "/flow", params={"node": "store://shared/data/", "direction": "both"})
        names = {node["id"] for node in found["nodes"]}
        assert f"job:{job}" in names
        assert not [name for name in names if name.startswith("hidden:")]


class TestModels:
    def test_deleting_a_model_with_its_files_does_not_delete_files_of_others(self, sides: Sides) -> None:
        make_bucket(sides.eve, "shared", "evil")
        put_object(sides.eve, "shared/data/weights", b"own")
        body = {"name": "trap", "path": "store://shared/data/weights", "to": "store://shared/data", "copy_files": True}
        made = sides.eve.json("POST", "/models", json=body)
        folder = f"data/{made['id']}"
        taken_over(sides)
        put_object(sides.ada, f"shared/{folder}/secret")
        assert sides.eve("DELETE", "/models/trap/versions/1?files=true").status_code in (404, 409)
        assert sides.ada("GET", f"/buckets/shared/objects/{folder}/secret").content == SECRET

    def test_nor_in_a_bucket_that_moved_to_others(self, sides: Sides) -> None:
        make_bucket(sides.eve, "shared", "evil")
        put_object(sides.eve, "shared/data/weights", b"own")
        body = {"name": "trap", "path": "store://shared/data/weights", "to": "store://shared/data", "copy_files": True}
        made = sides.eve.json("POST", "/models", json=body)
        sides.admin.json("PATCH", "/buckets/shared", json={"project": "vision"})
        assert sides.eve("DELETE", "/models/trap?files=true").status_code == 404
        assert sides.ada("GET", f"/buckets/shared/objects/data/{made['id']}/weights").content == b"own"

    def test_the_output_of_a_job_is_not_what_others_put_there_later(self, sides: Sides) -> None:
        make_bucket(sides.eve, "shared", "evil")
        job = sides.started("eve", output="store://shared/data")
        sides.admin.json("PUT", "/projects/vision/members/eve", json={"role": "viewer"})
        sides.eve.json("POST", f"/jobs/{job}/stop")
        sides.world.tick(3)
        taken_over(sides)
        put_object(sides.ada, f"shared/data/{job}/model/weights")
        status, message = told(sides.eve("POST", "/models", json={"name": "theft", "job": job}))
        assert status == 404
        assert message.startswith(f"job: the output of {job} is gone")


class TestProjects:
    def test_the_name_that_a_project_had_is_not_for_another_owner_to_take(self, sides: Sides) -> None:
        """Jobs of others may still name it: they would run, with their secrets, in the wrong project."""
        sides.ada.json("PATCH", "/projects/vision", json={"name": "pictures"})
        status, message = told(sides.eve("PATCH", "/projects/evil", json={"name": "vision"}))
        assert (status, "taken" in message) == (409, True)
        assert sides.ada.json("PATCH", "/projects/pictures", json={"name": "vision"})["name"] == "vision"

    def test_nor_the_name_of_a_deleted_one_but_an_admin_may_give_it(self, sides: Sides) -> None:
        sides.admin.json("POST", "/projects", json={"name": "short", "owner": "ada"})
        assert sides.ada("DELETE", "/projects/short").status_code == 204
        assert sides.eve("PATCH", "/projects/evil", json={"name": "short"}).status_code == 409
        assert sides.admin.json("PATCH", "/projects/evil", json={"name": "short"})["name"] == "short"

    def test_the_id_of_a_deleted_project_is_not_given_again(self, sides: Sides) -> None:
        """Shared folders, quotas and much else hang on it."""
        ids = []
        for name in ("first", "second"):
            sides.admin.json("POST", "/projects", json={"name": name, "owner": "ada"})
            with sides.world.database.reading() as session:
                row = projects.project_by_name(session, name)
                assert row is not None
                ids.append(row.id)
            assert sides.admin("DELETE", f"/projects/{name}").status_code == 204
        assert ids[0] < ids[1]

    def test_a_project_with_runs_is_not_deleted_from_below_them(self, sides: Sides) -> None:
        made = JournalMaker(name="r").header
        sides.admin.json("POST", "/projects", json={"name": "short", "owner": "ada"})
        sides.ada.json("POST", "/runs", json={**made, "project": "short"})
        status, message = told(sides.ada("DELETE", "/projects/short"))
        assert (status, "1 run" in message) == (409, True)


class TestRuns:
    def test_points_of_a_purged_run_are_not_those_of_the_run_that_has_its_number(self, sides: Sides) -> None:
        """SQLite gives the number of the newest run again when it is gone."""
        secret = JournalMaker(name="secret").log("train", {"loss": [42.0]}, [1])
        sides.ada.json("POST", "/runs", json=secret.header)
        sides.ada("PUT", f"/runs/{secret.run}/journals/pushed?offset=0", content=secret.data)
        sides.world.state.metrics.ingest_changed()
        shown = sides.ada.json("GET", "/runs/points", params={"run": secret.run})
        assert shown["items"][0]["value"] == [42.0]
        for path in (f"/runs/{secret.run}", f"/runs/{secret.run}?purge=true"):
            assert sides.ada("DELETE", path).status_code == 204
        own = JournalMaker(name="own").log("train", {"loss": [1.0]}, [1])
        sides.eve.json("POST", "/runs", json=own.header)
        sides.eve("PUT", f"/runs/{own.run}/journals/pushed?offset=0", content=own.data)
        sides.world.state.metrics.ingest_changed()
        found = sides.eve.json("GET", "/runs/points", params={"run": own.run})
        assert [item["value"] for item in found["items"]] == [[1.0]]
