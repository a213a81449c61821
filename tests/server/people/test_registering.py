"""Asking to be let in, and being invited."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.persons import GOOD, WRONG, as_, set_registration, sign_in_as, token_of, told
from tests.support.world import Api, World

from danlu.errors import TooManyRequests
from danlu.server.people import sign_in


class TestRegistering:
    def test_register_wait_approve_sign_in(self, world: World, api: Api) -> None:
        with as_(api) as nobody:
            asked = {"name": "ada", "password": GOOD, "full_name": "Ada Lovelace", "note": "vision"}
            answer = nobody("POST", "/registrations", json=asked)
        assert answer.status_code == 202
        assert answer.json()["is_active"] is False
        assert told(sign_in_as(api, "ada")) == (401, WRONG)
        (waiting,) = api.json("GET", "/registrations")["items"]
        assert (waiting["name"], waiting["is_name_taken"], waiting["address"]) == ("ada", False, "127.0.0.1")
        user = api.json("POST", f"/registrations/{waiting['id']}/approve", json={"project": "default"})
        assert (user["name"], user["state"], user["projects"]) == ("ada", "active", {"default": "member"})
        assert sign_in_as(api, "ada").json()["user"] == "ada"
        assert api.json("GET", "/registrations")["items"] == []

    def test_a_taken_name_is_answered_like_a_free_one(self, world: World, api: Api) -> None:
        with as_(api) as nobody:
            taken = nobody("POST", "/registrations", json={"name": "admin", "password": GOOD})
            free = nobody("POST", "/registrations", json={"name": "ada", "password": GOOD})
            again = nobody("POST", "/registrations", json={"name": "ada", "password": GOOD})
        assert (taken.status_code, taken.json()) == (free.status_code, free.json())
        assert (again.status_code, again.json()) == (free.status_code, free.json())
        assert told(sign_in_as(api, "admin")) == told(sign_in_as(api, "ada")) == (401, WRONG)
        waiting = api.json("GET", "/registrations")["items"]
        assert sorted((one["name"], one["is_name_taken"]) for one in waiting) == [
            ("ada", False),
            ("ada", False),
            ("admin", True),
        ]

    def test_an_admin_gives_another_name(self, api: Api) -> None:
        with as_(api) as nobody:
            nobody("POST", "/registrations", json={"name": "admin", "password": GOOD})
        waiting = api.json("GET", "/registrations")["items"][0]["id"]
        refused = api("POST", f"/registrations/{waiting}/approve", json={})
        assert told(refused) == (
            409,
            f"the name 'admin' is taken; give another: danlu users approve {waiting} --name NAME",
        )
        assert api.json("POST", f"/registrations/{waiting}/approve", json={"name": "adam"})["name"] == "adam"
        assert sign_in_as(api, "adam").status_code == 200

    def test_a_rejected_one_is_gone(self, api: Api) -> None:
        with as_(api) as nobody:
            nobody("POST", "/registrations", json={"name": "ada", "password": GOOD})
        waiting = api.json("GET", "/registrations")["items"][0]["id"]
        assert api("DELETE", f"/registrations/{waiting}").status_code == 204
        assert told(api("POST", f"/registrations/{waiting}/approve", json={}))[0] == 404
        assert told(sign_in_as(api, "ada")) == (401, WRONG)

    def test_closed_refuses_and_open_lets_in(self, world: World, api: Api) -> None:
        asked = {"name": "ada", "password": GOOD}
        set_registration(world, registration="closed")
        assert told(api("POST", "/registrations", json=asked)) == (
            403,
            "this server does not accept registrations; ask an admin for an invitation",
        )
        set_registration(world, registration="open", join_project="default")
        assert api.json("POST", "/registrations", json=asked)["is_active"] is True
        assert sign_in_as(api, "ada").status_code == 200
        assert told(api("POST", "/registrations", json=asked)) == (409, "the name 'ada' is taken; choose another")
        assert api.json("GET", "/users/ada")["projects"] == {"default": "member"}

    def test_one_address_cannot_fill_the_list(self, world: World, api: Api) -> None:
        set_registration(world, registration="approval")
        origin = world.admin.origin
        for _ in range(10):
            world.database.write(sign_in.count_registering, origin, world.clock())
        with pytest.raises(TooManyRequests, match="too many registrations from this address; try again in 1s"):
            world.database.write(sign_in.count_registering, origin, world.clock())

    @pytest.mark.parametrize(
        ("body", "problem"),
        [
            ({"name": "Ada", "password": GOOD}, "name: expected a user name of a lower-case letter and up to 31"),
            ({"name": "", "password": GOOD}, "name: expected a user name"),
            ({"name": "../etc", "password": GOOD}, "name: expected a user name"),
            ({"name": "ada\n", "password": GOOD}, "name: expected a user name"),
            ({"name": "x" * 33, "password": GOOD}, "expected a user name"),
            ({"name": "root", "password": GOOD}, "name: 'root' is reserved; choose another name"),
            ({"name": "ada", "password": "short"}, "password: expected at least 8 characters"),
            ({"name": "ada"}, "password: this field is required"),
            ({"name": "ada", "password": GOOD, "is_admin": True}, "is_admin: unknown field of this request"),
            ({"name": "ada", "password": GOOD, "email": "a\nb"}, "email: control characters and lone surrogates"),
            ({"name": "ada", "password": GOOD, "note": "x" * 2001}, "note: "),
        ],
    )
    def test_wrong_input(self, api: Api, body: Any, problem: str) -> None:
        response = api("POST", "/registrations", json=body)
        assert response.status_code == 422
        assert problem in response.json()["message"]
        assert "short'" not in response.json()["message"]
        assert api.json("GET", "/registrations")["items"] == []


class TestInviting:
    def test_a_link_signs_in_once_and_sets_a_password(self, world: World, api: Api) -> None:
        link = api.json("POST", "/users", json={"name": "ada", "project": "default", "role": "viewer"})
        assert link["url"].startswith("http://127.0.0.1:8400/signin?token=")
        assert api.json("GET", "/users/ada")["state"] == "invited"
        body = {"token": token_of(link), "new_password": GOOD}
        with as_(api) as ada:
            assert ada("POST", "/session", json=body).json()["user"] == "ada"
            assert told(ada("POST", "/session", json=body))[1].startswith("the sign-in link was used or has expired")
        user = api.json("GET", "/users/ada")
        assert (user["state"], user["has_password"], user["projects"]) == ("active", True, {"default": "viewer"})
        assert sign_in_as(api, "ada").status_code == 200

    def test_a_link_runs_out_after_a_day(self, world: World, api: Api) -> None:
        link = api.json("POST", "/users", json={"name": "ada"})
        world.clock.pass_seconds(86401)
        with as_(api) as ada:
            assert ada("POST", "/session", json={"token": token_of(link)}).status_code == 401

    def test_links_begin_with_the_public_address(self, world: World, api: Api) -> None:
        set_registration(world, public_url="https://danlu.example.org/")
        url = api.json("POST", "/users", json={"name": "ada"})["url"]
        assert url.startswith("https://danlu.example.org/signin?token=")

    @pytest.mark.parametrize(
        ("body", "status", "problem"),
        [
            ({"name": "admin"}, 409, "the name 'admin' is taken; choose another"),
            ({"name": "ada", "project": "nothing"}, 404, "no project 'nothing'; `danlu projects ls` lists them"),
            ({"name": "ada", "role": "king"}, 422, "role: expected one of member, owner, viewer, got 'king'"),
        ],
    )
    def test_wrong_input_makes_nobody(self, api: Api, body: Any, status: int, problem: str) -> None:
        response = api("POST", "/users", json=body)
        assert response.status_code == status
        assert problem in response.json()["message"]
        assert [user["name"] for user in api.json("GET", "/users")["items"]] == ["admin"]
