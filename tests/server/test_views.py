"""Saved views over real HTTP: one's own, and those that a project shares."""

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
    body = {"name": name, "page": "compare", "search": {"runs": "a,b", "log": True}, **options}
    made: dict[str, Any] = api.json("POST", "/views", json=body)
    return made


def names(api: Api) -> list[str]:
    return [one["name"] for one in api.json("GET", "/views")["items"]]


def test_what_the_address_says_is_kept_as_it_is(api: Api) -> None:
    search = {"q": "name ~ a", "log": True, "smoothing": 0.5, "from": 3, "columns": ["name", "max(metrics.val.acc)"]}
    made = save(api, "mine", page="experiments", search=search)
    found = api.json("GET", f"/views/{made['id']}")
    assert found == made
    assert (found["page"], found["search"]) == ("experiments", search)


def test_others_open_what_is_shared_and_change_nothing(api: Api, mona: Api) -> None:
    mine, ours = save(api, "mine"), save(api, "ours", is_shared=True)
    assert (names(api), names(mona)) == (["mine", "ours"], ["ours"])
    assert mona("GET", f"/views/{mine['id']}").status_code == 404
    assert mona.json("GET", f"/views/{ours['id']}")["is_yours"] is False
    assert mona("DELETE", f"/views/{ours['id']}").status_code == 403
    assert mona("DELETE", f"/views/{mine['id']}").status_code == 404


def test_the_same_name_again_replaces_ones_own(api: Api) -> None:
    first = save(api, "best")
    again = save(api, "best", search={"log": False}, is_shared=True)
    assert (again["id"], again["search"], again["is_shared"]) == (first["id"], {"log": False}, True)
    assert api("DELETE", f"/views/{first['id']}").status_code == 204
    assert names(api) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"page": "admin"},
        {"search": {"deep": {"a": {"b": 1}}}},
        {"search": {"long": "x" * 4001}},
        {"search": {"many": ["x"] * 301}},
        {"search": {f"key{number}": 1 for number in range(41)}},
        {"name": ""},
    ],
)
def test_what_no_address_has_is_refused(api: Api, wrong: dict[str, Any]) -> None:
    body = {"name": "bad", "page": "compare", "search": {}, **wrong}
    assert api("POST", "/views", json=body).status_code == 422
    assert names(api) == []
