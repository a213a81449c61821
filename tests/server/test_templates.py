"""Templates over real HTTP: one's own, and those that a project shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.world import Api, World

from danlu.auth.identity import Role


@pytest.fixture
def mona(world: World) -> Iterator[Api]:
    """A colleague in the same project."""
    who = world.add_user("mona", "default", Role.MEMBER)
    with world.serving() as url, Api(url, world.api_key(who)) as api:
        yield api


def save(api: Api, name: str, **options: Any) -> dict[str, Any]:
    made: dict[str, Any] = api.json("POST", "/templates", json={"name": name, "spec": {"nodes": 2}, **options})
    return made


def names(api: Api) -> list[str]:
    return [one["name"] for one in api.json("GET", "/templates")["items"]]


def test_what_is_given_is_kept_as_a_job_has_it(api: Api) -> None:
    spec = {"resources": {"device": "npu:4", "memory": "2GB"}, "env": {"BATCH": 64}, "command": None}
    made = save(api, "4 NPUs", spec=spec)
    assert set(made["spec"]) == {"resources", "env"}
    assert made["spec"]["resources"]["memory"] == 2_000_000_000
    assert made["spec"]["env"] == {"BATCH": "64"}
    submitted = {"name": "a", "command": "true", **made["spec"]}
    assert api.json("POST", "/jobs/plan", json={"spec": submitted})["tasks"]


def test_others_see_what_is_shared_and_change_nothing(api: Api, mona: Api) -> None:
    save(api, "mine")
    shared = save(api, "ours", is_shared=True)
    assert (names(api), names(mona)) == (["mine", "ours"], ["ours"])
    assert mona.json("GET", "/templates")["items"][0]["is_yours"] is False
    assert mona("DELETE", f"/templates/{shared['id']}").status_code == 403
    save(mona, "ours")
    assert names(mona) == ["ours", "ours"]  # her own, beside the other


def test_the_same_name_again_replaces_ones_own(api: Api) -> None:
    first = save(api, "big")
    again = save(api, "big", spec={"nodes": 8}, is_shared=True)
    assert (again["id"], again["spec"], again["is_shared"]) == (first["id"], {"nodes": 8}, True)
    assert api("DELETE", f"/templates/{first['id']}").status_code == 204
    assert names(api) == []


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"nodes": 0}, "nodes"),
        ({"comand": "x"}, "comand"),
        ({"secrets": {"TOKEN": "x"}}, "secrets"),
        ({"code": {"path": "src"}}, "code.path"),
        ({"resources": {"device": "npu:910b:0"}}, "resources.device"),
    ],
)
def test_what_no_job_could_have_is_refused(api: Api, spec: dict[str, Any], field: str) -> None:
    answer = api("POST", "/templates", json={"name": "bad", "spec": spec})
    assert (answer.status_code, list(answer.json()["fields"])) == (422, [field])
    assert names(api) == []


def test_pages(api: Api) -> None:
    for number in range(3):
        save(api, f"t{number}")
    first = api.json("GET", "/templates", params={"limit": 2})
    rest = api.json("GET", "/templates", params={"limit": 2, "cursor": first["next"]})
    assert [one["name"] for one in first["items"] + rest["items"]] == ["t0", "t1", "t2"]
    assert rest["next"] is None
    assert api("GET", "/templates", params={"cursor": "x"}).status_code == 422
