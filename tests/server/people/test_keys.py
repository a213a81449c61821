"""API keys of people."""

from __future__ import annotations

from typing import Any

from tests.support.persons import as_
from tests.support.world import Api, World


class TestKeys:
    def test_last_used_is_written_at_most_once_a_minute(self, world: World, api: Api) -> None:
        key = world.api_key(name="mine")
        key_id = key.removeprefix("dk-").partition(".")[0]

        def used() -> Any:
            return next(one for one in api.json("GET", "/keys")["items"] if one["id"] == key_id)["last_used_at"]

        with as_(api, key) as script:
            script("GET", "/me")
            first = used()
            world.clock.pass_seconds(59)
            script("GET", "/me")
            assert used() == first
            world.clock.pass_seconds(2)
            script("GET", "/me")
            assert used() > first

    def test_an_admin_lists_and_revokes_those_of_others(self, world: World, api: Api) -> None:
        key = world.api_key(world.add_user("ada", "default"), name="laptop")
        (found,) = api.json("GET", "/keys?user=ada")["items"]
        assert (found["name"], found["user"]) == ("laptop", "ada")
        assert "api_key" not in found
        assert api("DELETE", f"/keys/{found['id']}").status_code == 204
        with as_(api, key) as script:
            assert script("GET", "/me").status_code == 401

    def test_they_come_in_pages(self, world: World, api: Api) -> None:
        for number in range(5):
            world.api_key(name=f"k{number}")
        first = api.json("GET", "/keys?limit=4")
        second = api.json("GET", f"/keys?limit=4&cursor={first['next']}")
        names = {one["name"] for one in first["items"] + second["items"]}
        assert names >= {f"k{number}" for number in range(5)}
        assert second["next"] is None
