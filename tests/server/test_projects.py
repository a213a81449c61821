"""Projects: made, renamed, archived and deleted; who belongs to them; what is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.shared import Shared, share_world
from tests.support.world import Api, World

from danlu.auth.identity import Role


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with share_world(tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
def world(shared: Shared) -> World:
    return shared.fresh()


@pytest.fixture
def api(world: World, shared: Shared) -> Iterator[Api]:
    with shared.api() as made:
        yield made


def told(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["message"]


def api_of(world: World, api: Api, name: str) -> Api:
    return Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(world.identity(name)))


class TestMaking:
    def test_a_project_has_an_owner_and_what_is_in_it_is_told(self, world: World, api: Api) -> None:
        world.add_user("ada")
        made = api.json("POST", "/projects", json={"name": "vision", "description": "Pictures", "owner": "ada"})
        assert made["members"] == [{"name": "ada", "full_name": "", "role": "owner", "is_active": True}]
        assert made["role"] is None
        with api_of(world, api, "ada") as ada:
            assert ada.json("GET", "/projects/vision")["role"] == "owner"
            ada.json("POST", "/buckets", json={"name": "vision-data", "project": "vision"})
            job = ada.json("POST", "/jobs", json={"spec": {"name": "a", "command": "x", "project": "vision"}})
            assert (job["project"], job["output"]) == ("vision", f"store://vision-data/jobs/{job['id']}/")
            seen = ada.json("GET", "/projects/vision")
        assert (seen["buckets"], seen["num_jobs"], seen["num_open_jobs"]) == (["vision-data"], 1, 1)

    @pytest.mark.parametrize(
        ("body", "status", "problem"),
        [
            ({"name": "Vision"}, 422, "name: expected a project name of up to 63 lower-case letters"),
            ({"name": "../x"}, 422, "name: expected a project name"),
            ({"name": "default"}, 409, "invalid project name: 'default' is taken; choose another name"),
            ({"name": "a", "owner": "nobody"}, 404, "no active user 'nobody'; names are written as in `danlu whoami`"),
            ({"name": "a", "colour": "red"}, 422, "colour: unknown field of this request"),
            ({}, 422, "name: this field is required"),
        ],
    )
    def test_wrong_input(self, api: Api, body: Any, status: int, problem: str) -> None:
        response = api("POST", "/projects", json=body)
        assert response.status_code == status
        assert problem in response.json()["message"]
        assert [one["name"] for one in api.json("GET", "/projects")["items"]] == ["default"]

    def test_renaming_keeps_everything(self, world: World, api: Api) -> None:
        job = world.submit()
        api.json("PATCH", "/projects/default", json={"name": "renamed"})
        assert api("GET", "/projects/default").status_code == 404
        assert api.json("GET", f"/jobs/{job}")["project"] == "renamed"
        api.json("POST", "/projects", json={"name": "second"})
        assert told(api("PATCH", "/projects/second", json={"name": "renamed"}))[0] == 409

    def test_they_come_in_pages(self, api: Api) -> None:
        for number in range(5):
            api.json("POST", "/projects", json={"name": f"p{number}"})
        first = api.json("GET", "/projects?limit=4")
        second = api.json("GET", "/projects", params={"limit": 4, "cursor": first["next"]})
        assert [one["name"] for one in first["items"] + second["items"]] == ["default", "p0", "p1", "p2", "p3", "p4"]
        assert second["next"] is None


class TestMembers:
    def test_the_last_owner_neither_leaves_nor_steps_down(self, world: World, api: Api) -> None:
        world.add_user("ada", "vision", Role.OWNER)
        world.add_user("bob", "vision", Role.MEMBER)
        last = "ada is the last owner of 'vision'; make another user an owner first: danlu projects add vision NAME"
        with api_of(world, api, "ada") as ada:
            for response in (
                ada("DELETE", "/projects/vision/members/ada"),
                ada("PUT", "/projects/vision/members/ada", json={"role": "member"}),
            ):
                assert response.status_code == 409
                assert response.json()["message"].startswith(last)
            ada.json("PUT", "/projects/vision/members/bob", json={"role": "owner"})
            assert ada("DELETE", "/projects/vision/members/ada").status_code == 204
            assert ada("GET", "/projects/vision").status_code == 404

    def test_an_owner_who_is_disabled_does_not_count(self, world: World, api: Api) -> None:
        world.add_user("ada", "vision", Role.OWNER)
        world.add_user("bob", "vision", Role.OWNER)
        api.json("POST", "/users/bob/disable", json={})
        with api_of(world, api, "ada") as ada:
            assert ada("DELETE", "/projects/vision/members/ada").status_code == 409

    def test_a_role_counts_from_the_next_request_on(self, world: World, api: Api) -> None:
        world.add_user("ada", "vision", Role.VIEWER)
        with api_of(world, api, "ada") as ada:
            assert ada("PUT", "/buckets/vision/objects/a", content=b"x").status_code == 403
            api.json("PUT", "/projects/vision/members/ada", json={"role": "member"})
            assert ada("PUT", "/buckets/vision/objects/a", content=b"x").status_code == 200
            assert api("DELETE", "/projects/vision/members/ada").status_code == 204
            assert ada("GET", "/buckets/vision/objects/a").status_code == 404

    @pytest.mark.parametrize(
        ("method", "path", "body", "status", "problem"),
        [
            ("PUT", "nobody", {"role": "member"}, 404, "no active user 'nobody'"),
            ("PUT", "admin", {"role": "king"}, 422, "role: expected one of member, owner, viewer, got 'king'"),
            ("PUT", "admin", {}, 422, "role: this field is required"),
            ("DELETE", "nobody", None, 404, "'nobody' is no member of 'default'"),
        ],
    )
    def test_wrong_input(self, api: Api, method: str, path: str, body: Any, status: int, problem: str) -> None:
        response = api(method, f"/projects/default/members/{path}", **({"json": body} if body is not None else {}))
        assert response.status_code == status
        assert problem in response.json()["message"]


class TestArchiving:
    def test_it_can_be_looked_at_and_not_be_changed(self, world: World, api: Api) -> None:
        ada = world.add_user("ada", "vision", Role.OWNER)
        job = world.submit(ada)
        with api_of(world, api, "ada") as owner:
            owner("PUT", "/buckets/vision/objects/a", content=b"x")
            assert told(owner("PATCH", "/projects/vision", json={"is_archived": True})) == (
                409,
                "1 of the project's jobs wait or run; stop them first: danlu ps, danlu stop JOB",
            )
            owner.json("POST", f"/jobs/{job}/stop")
            world.tick()
            assert owner.json("PATCH", "/projects/vision", json={"is_archived": True})["is_archived"] is True
            assert owner("GET", "/buckets/vision/objects/a").status_code == 200
            assert owner.json("GET", f"/jobs/{job}")["project"] == "vision"
            for client in (owner, api):  # not even an admin
                assert client("PUT", "/buckets/vision/objects/a", content=b"y").status_code == 403
                assert client("DELETE", "/buckets/vision/objects/a").status_code == 403
                assert client("POST", f"/jobs/{job}/start").status_code == 403
                spec = {"name": "a", "command": "x", "project": "vision"}
                assert told(client("POST", "/jobs", json={"spec": spec})) == (
                    422,
                    "invalid job: project: project 'vision' is archived; "
                    "an owner can restore it: danlu projects unarchive vision",
                )
            owner.json("PATCH", "/projects/vision", json={"is_archived": False})
            assert owner("PUT", "/buckets/vision/objects/a", content=b"y").status_code == 200


class TestDeleting:
    def test_what_is_in_it_is_said(self, world: World, api: Api) -> None:
        world.add_user("ada", "vision", Role.OWNER)
        job = world.submit(world.identity("ada"))
        assert told(api("DELETE", "/projects/vision")) == (
            409,
            "project 'vision' is not empty: 1 job and bucket vision; delete or move that first, "
            "or archive it: danlu projects archive vision",
        )
        api.json("POST", f"/jobs/{job}/stop")
        world.tick()
        api("DELETE", f"/jobs/{job}")
        api("DELETE", "/buckets/vision")
        assert api("DELETE", "/projects/vision").status_code == 204
        assert api("GET", "/projects/vision").status_code == 404


class TestBuckets:
    def test_only_an_empty_one_is_deleted(self, api: Api) -> None:
        api("PUT", "/buckets/main/objects/a", content=b"x")
        assert told(api("DELETE", "/buckets/main")) == (
            409,
            "bucket 'main' is not empty; list its objects: danlu store ls store://main/",
        )
        api("DELETE", "/buckets/main/objects/a")
        assert api("DELETE", "/buckets/main").status_code == 204
        assert api("GET", "/buckets/main/objects").status_code == 404

    def test_one_that_moves_is_its_new_projects(self, world: World, api: Api) -> None:
        world.add_user("ada", "vision", Role.OWNER)
        world.add_user("bob", "other", Role.OWNER)
        job = world.submit(world.identity("ada"))
        assert told(api("PATCH", "/buckets/vision", json={"project": "other"})) == (
            409,
            f"active jobs write to bucket 'vision': {job}; stop them first",
        )
        api.json("POST", f"/jobs/{job}/stop")
        world.tick()
        assert api.json("PATCH", "/buckets/vision", json={"project": "other"}) == {"name": "vision", "project": "other"}
        with api_of(world, api, "ada") as ada, api_of(world, api, "bob") as bob:
            assert ada("GET", "/buckets/vision/objects").status_code == 404
            assert bob("GET", "/buckets/vision/objects").status_code == 200
            # and a job that wrote there before does not write there again
            assert told(ada("POST", f"/jobs/{job}/start")) == (
                422,
                "invalid job: output: no bucket 'vision'; `danlu store ls` shows yours",
            )

    def test_it_takes_an_owner_of_both(self, world: World, api: Api) -> None:
        world.add_user("ada", "vision", Role.OWNER)
        world.add_user("bob", "other", Role.OWNER)
        with api_of(world, api, "ada") as ada:
            assert ada("PATCH", "/buckets/vision", json={"project": "other"}).status_code == 404
            api.json("PUT", "/projects/other/members/ada", json={"role": "member"})
            assert told(ada("PATCH", "/buckets/vision", json={"project": "other"})) == (
                403,
                "only owners of project 'other' and admins may move a bucket there",
            )
            api.json("PUT", "/projects/other/members/ada", json={"role": "owner"})
            assert ada("PATCH", "/buckets/vision", json={"project": "other"}).status_code == 200


class TestCode:
    def test_code_that_was_sent_for_one_project_serves_in_another_of_yours(self, world: World, api: Api) -> None:
        world.add_user("ada", "vision", Role.OWNER)
        api.json("POST", "/projects", json={"name": "second", "owner": "ada"})
        api.json("POST", "/buckets", json={"name": "second", "project": "second"})
        with api_of(world, api, "ada") as ada:
            tree = ada.json("POST", "/trees", json={"files": []})["digest"]
            spec = {"name": "a", "command": "x", "project": "second", "code": {"tree": tree}}
            assert ada.json("POST", "/jobs", json={"spec": spec})["project"] == "second"
