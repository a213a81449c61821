"""Quotas over HTTP: who sees and sets them, and what they count."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.world import Api, World

from danlu.auth.identity import Role


def test_used_quota_and_free_for_the_project_and_its_people(world: World, api: Api) -> None:
    ann = world.add_user("ann", "vision")
    body = {"project": {"npu": 6, "memory": "64GiB"}, "users": {"ann": {"npu": 4}}}
    api.json("PUT", "/projects/vision/quotas", json=body)
    world.submit(ann, resources={"device": "npu:2", "memory": "1GiB"})
    world.submit(ann, resources={"device": "npu:5"}, preemptible=True)
    world.tick()
    found = api.json("GET", "/projects/vision/quotas")
    npu = {"resource": "npu", "quota": 6.0, "used": 7.0, "firm": 2.0, "borrowed": 1.0, "free": 4.0}
    memory = {
        "resource": "memory",
        "quota": float(64 << 30),
        "used": float(1 << 30),
        "firm": float(1 << 30),
        "borrowed": 0.0,
        "free": float(63 << 30),
    }
    assert found["quotas"] == [memory, npu]
    (person,) = found["users"]
    assert person["user"] == "ann"
    assert {line["resource"]: line["free"] for line in person["quotas"]} == {"npu": 2.0, "memory": None}


def test_a_change_is_acted_on(world: World, api: Api) -> None:
    api.json("PUT", "/projects/default/quotas", json={"project": {"npu": 0}})
    job = world.submit(resources={"device": "npu:1"})
    world.tick()
    assert world.job(job).reason.code == "quota_project"
    api.json("PUT", "/projects/default/quotas", json={"project": {}})
    world.tick()
    assert world.job(job).state.value == "starting"


def test_an_admin_sets_the_projects_an_owner_those_of_its_people(world: World) -> None:
    people = {role: world.add_user(f"{role}-1", "vision", role) for role in Role}
    stranger = world.add_user("stranger", "speech", Role.OWNER)
    for who, sees, project, users in (
        (world.admin, 200, 200, 200),
        (people[Role.OWNER], 200, 403, 200),
        (people[Role.MEMBER], 200, 403, 403),
        (people[Role.VIEWER], 200, 403, 403),
        (stranger, 404, 404, 404),
    ):
        with world.serving() as url, Api(url, world.api_key(who)) as api:
            assert api("GET", "/projects/vision/quotas").status_code == sees, who
            wanted: dict[str, Any] = {"project": {"npu": 1}}
            assert api("PUT", "/projects/vision/quotas", json=wanted).status_code == project, who
            wanted = {"users": {"member-1": {"npu": 1}}}
            assert api("PUT", "/projects/vision/quotas", json=wanted).status_code == users, who


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"project": {"cpu": 4}}, "project.cpu"),
        ({"project": {"npu": -1}}, "project.npu"),
        ({"project": {"npu": 1.5}}, "project.npu"),
        ({"project": {"memory": "much"}}, "project.memory"),
        ({"users": {"nobody": {"npu": 1}}}, "users.nobody"),
    ],
)
def test_what_cannot_be_a_quota_is_refused_by_name(world: World, api: Api, body: dict[str, Any], field: str) -> None:
    answer = api("PUT", "/projects/default/quotas", json=body)
    assert answer.status_code == 422
    assert list(answer.json()["fields"]) == [field]
    assert api.json("GET", "/projects/default/quotas")["quotas"] == []
