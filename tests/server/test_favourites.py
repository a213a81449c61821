"""Favourites over real HTTP, on both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text
from tests.support.databases import KINDS
from tests.support.world import Api, World

from danlu.auth.identity import Role


@pytest.fixture(params=KINDS)
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def mona(world: World) -> Iterator[Api]:
    """A colleague in the same project."""
    who = world.add_user("mona", "default", Role.MEMBER)
    with world.serving() as url, Api(url, world.api_key(who)) as api:
        yield api


def submit(api: Api, name: str) -> str:
    made = api.json("POST", "/jobs", json={"spec": {"name": name, "command": "true", "tags": {"team": name}}})
    return str(made["id"])


def favourites(api: Api) -> list[str]:
    return [one["job"] for one in api.json("GET", "/favourites")["items"]]


def listed(api: Api, query: str = "") -> list[str]:
    return [one["id"] for one in api.json("GET", f"/jobs?favourites=true{query}")["items"]]


def test_a_favourite_is_listed_until_it_is_none(api: Api) -> None:
    first, second = submit(api, "first"), submit(api, "second")
    added = api.json("PUT", f"/favourites/{first}")
    assert api.json("PUT", "/favourites/first") == added  # by name, and again
    assert (favourites(api), listed(api)) == ([first], [first])
    api.json("PUT", f"/favourites/{second}")
    assert (favourites(api), listed(api)) == ([second, first], [second, first])
    assert listed(api, "&tag=team%3Dfirst") == [first]
    for _ in range(2):
        assert api("DELETE", f"/favourites/{second}").status_code == 204
    assert (favourites(api), listed(api)) == ([first], [first])


def test_they_are_ones_own(api: Api, mona: Api) -> None:
    job = submit(api, "train")
    mona.json("PUT", f"/favourites/{job}")
    assert (favourites(api), favourites(mona)) == ([], [job])
    assert (listed(api), listed(mona)) == ([], [job])


def test_who_sees_a_job_no_more_does_not_have_it_among_them(world: World, api: Api, mona: Api) -> None:
    job = submit(api, "train")
    mona.json("PUT", f"/favourites/{job}")
    assert api("DELETE", "/projects/default/members/mona").status_code in (200, 204)
    assert (favourites(mona), listed(mona)) == ([], [])


def test_a_job_that_is_deleted_is_nobodys_favourite(world: World, api: Api, mona: Api) -> None:
    job = submit(api, "train")
    for who in (api, mona):
        who.json("PUT", f"/favourites/{job}")
    api("POST", f"/jobs/{job}/stop")
    world.tick()
    assert api("DELETE", f"/jobs/{job}").status_code == 204
    with world.database.reading() as session:
        assert session.scalar(text("SELECT count(*) FROM favourites")) == 0
    assert favourites(mona) == []


def test_they_come_in_pages(api: Api) -> None:
    jobs = [submit(api, f"job-{number}") for number in range(3)]
    for job in jobs:
        api.json("PUT", f"/favourites/{job}")
    first = api.json("GET", "/favourites?limit=2")
    rest = api.json("GET", f"/favourites?limit=2&cursor={first['next']}")
    assert [one["job"] for one in first["items"] + rest["items"]] == jobs[::-1]
    assert rest["next"] is None
    assert api("GET", "/favourites?cursor=x").status_code == 422
