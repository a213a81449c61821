"""The life of a person: registered, let in, invited, signed in, disabled, and back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from tests.support.shared import Shared, share_world
from tests.support.world import Api, World, make_world

from danlu.auth.passwords import Passwords
from danlu.auth.turns import Turns
from danlu.errors import TooManyRequests
from danlu.server.people import sign_in
from danlu.store import people

GOOD = "a good password"
WRONG = "the name or the password is wrong, or an admin has not let you in yet"


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


@contextmanager
def as_(api: Api, key: str | None = None) -> Iterator[Api]:
    """The same server, with other credentials."""
    with Api(str(api.http.base_url).removesuffix("/api/v1/"), key) as other:
        yield other


def told(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["message"]


def sign_in_as(api: Api, name: str, password: str = GOOD) -> httpx.Response:
    with as_(api) as nobody:
        return nobody("POST", "/session", json={"name": name, "password": password})


def token_of(link: dict[str, Any]) -> str:
    return str(link["url"]).partition("/signin?token=")[2]


def set_registration(world: World, **values: Any) -> None:
    """Change settings of a world that is being served."""
    settings = world.settings.model_copy(update=values)
    object.__setattr__(world.state, "settings", settings)


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
            "this server takes no registrations; ask an admin for an invitation",
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
            ({"name": "Ada", "password": GOOD}, "name: 'Ada' is not a name for a person; a small letter and then"),
            ({"name": "", "password": GOOD}, "name: '' is not a name for a person"),
            ({"name": "../etc", "password": GOOD}, "name: '../etc' is not a name for a person"),
            ({"name": "ada\n", "password": GOOD}, "name: 'ada\\n' is not a name for a person"),
            ({"name": "x" * 33, "password": GOOD}, "is not a name for a person"),
            ({"name": "root", "password": GOOD}, "name: 'root' is kept for the system; choose another name"),
            ({"name": "ada", "password": "short"}, "password: this is too short; at least 8 characters would be right"),
            ({"name": "ada"}, "password: missing; it must be given"),
            ({"name": "ada", "password": GOOD, "is_admin": True}, "is_admin: not a field of this request"),
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
            assert told(ada("POST", "/session", json=body))[1].startswith("the sign-in link was used or is too old")
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
            ({"name": "ada", "role": "king"}, 422, "role: 'king' is not known; known: member, owner, viewer"),
        ],
    )
    def test_wrong_input_makes_nobody(self, api: Api, body: Any, status: int, problem: str) -> None:
        response = api("POST", "/users", json=body)
        assert response.status_code == status
        assert problem in response.json()["message"]
        assert [user["name"] for user in api.json("GET", "/users")["items"]] == ["admin"]


class TestPasswords:
    @pytest.fixture
    def ada(self, world: World, api: Api) -> Iterator[Api]:
        """Ada with a session in a browser, and her password."""
        link = api.json("POST", "/users", json={"name": "ada"})
        with as_(api) as browser:
            body = {"token": token_of(link), "new_password": GOOD}
            browser.http.headers["X-Danlu-CSRF"] = browser.json("POST", "/session", json=body)["csrf"]
            yield browser

    def test_changing_needs_the_one_so_far(self, ada: Api, api: Api) -> None:
        for body in ({"password": "a new password"}, {"password": "a new password", "current": "wrong"}):
            status, message = told(ada("PUT", "/me/password", json=body))
            assert status == 422
            assert message.startswith("current: the password so far is missing or wrong; an admin can make a link")
        assert ada("PUT", "/me/password", json={"password": "a new one!", "current": GOOD}).status_code == 204
        assert sign_in_as(api, "ada").status_code == 401
        assert sign_in_as(api, "ada", "a new one!").status_code == 200

    def test_changing_ends_other_sessions_and_links_but_not_keys(self, ada: Api, api: Api) -> None:
        key = ada.json("POST", "/keys", json={})["api_key"]
        link = api.json("POST", "/users/ada/link", json={})
        with as_(api) as elsewhere, as_(api, key) as script:
            elsewhere.json("POST", "/session", json={"name": "ada", "password": GOOD})
            ada("PUT", "/me/password", json={"password": "a new one!", "current": GOOD})
            assert elsewhere("GET", "/me").status_code == 401
            assert script("GET", "/me").status_code == 200
            assert ada("GET", "/me").status_code == 200
            assert elsewhere("POST", "/session", json={"token": token_of(link)}).status_code == 401

    def test_a_reset_leaves_the_old_password_until_the_link_is_used(self, ada: Api, api: Api) -> None:
        link = api.json("POST", "/users/ada/link", json={})
        assert sign_in_as(api, "ada").status_code == 200
        with as_(api) as browser:
            browser.json("POST", "/session", json={"token": token_of(link), "new_password": "a new one!"})
        assert sign_in_as(api, "ada").status_code == 401
        assert sign_in_as(api, "ada", "a new one!").status_code == 200

    def test_a_reset_can_end_everything_at_once(self, ada: Api, api: Api) -> None:
        key = ada.json("POST", "/keys", json={})["api_key"]
        link = api.json("POST", "/users/ada/link", json={"ends_access": True})
        with as_(api, key) as script:
            assert script("GET", "/me").status_code == 401
        assert ada("GET", "/me").status_code == 401
        assert sign_in_as(api, "ada").status_code == 401
        with as_(api) as browser:
            assert browser("POST", "/session", json={"token": token_of(link)}).status_code == 200

    def test_a_password_is_never_repeated(self, api: Api) -> None:
        response = api("POST", "/session", json={"name": "ada", "password": 12345678, "new_password": "hush"})
        assert response.status_code == 422
        assert "12345678" not in response.text
        assert "hush" not in response.text


class TestDisabling:
    def test_all_ways_in_end_at_once_and_only_the_password_comes_back(self, world: World, api: Api) -> None:
        link = api.json("POST", "/users", json={"name": "ada", "project": "default"})
        with as_(api) as browser:
            body = {"token": token_of(link), "new_password": GOOD}
            csrf = browser.json("POST", "/session", json=body)["csrf"]
            key = browser.json("POST", "/keys", json={}, headers={"X-Danlu-CSRF": csrf})["api_key"]
            unused = api.json("POST", "/users/ada/link", json={})
            with as_(api, key) as script:
                assert api.json("POST", "/users/ada/disable", json={})["state"] == "disabled"
                assert script("GET", "/me").status_code == 401
                assert browser("GET", "/me").status_code == 401
                assert browser("POST", "/session", json={"token": token_of(unused)}).status_code == 401
                assert told(sign_in_as(api, "ada")) == (401, "the account is not active; ask an admin")
                assert told(sign_in_as(api, "ada", "wrong")) == (401, WRONG)
                assert told(api("POST", "/users/ada/link", json={})) == (
                    409,
                    "ada is disabled; first: danlu users enable ada",
                )
                assert api.json("POST", "/users/ada/enable")["state"] == "active"
                assert script("GET", "/me").status_code == 401
                assert browser("GET", "/me").status_code == 401
        assert sign_in_as(api, "ada").status_code == 200

    @pytest.mark.parametrize(("stops", "desired"), [(False, "run"), (True, "stop")])
    def test_jobs_go_on_unless_they_are_to_be_stopped(self, world: World, api: Api, stops: bool, desired: str) -> None:
        ada = world.add_user("ada", "default")
        running, queued = world.started(who=ada), world.submit(ada)
        user = api.json("POST", "/users/ada/disable", json={"stops_jobs": stops})
        assert user["num_open_jobs"] == 2
        assert [str(world.job(job).desired) for job in (running, queued)] == [desired, desired]

    def test_a_disabled_persons_job_keeps_its_own_token(self, world: World, api: Api) -> None:
        ada = world.add_user("ada", "default")
        job = world.started(who=ada)
        api.json("POST", "/users/ada/disable", json={})
        with as_(api, world.job_token(job)) as token:
            path = f"/buckets/main/objects/jobs/{job}/model.pt"
            assert token("PUT", path, content=b"x").status_code == 200

    @pytest.mark.parametrize("what", ["jobs", "runs"])
    @pytest.mark.parametrize("how", ["disable", "delete key", "leave project"])
    def test_an_answer_that_goes_on_ends_too(self, world: World, api: Api, how: str, what: str) -> None:
        ada = world.add_user("ada", "default")
        run = f"run-{'a' * 26}"
        followed = (
            world.started() if what == "jobs" else api.json("POST", "/runs", json={"run": run, "name": "r"})["id"]
        )
        key = world.api_key(ada)
        began = threading.Event()

        def follow() -> None:
            with as_(api, key) as script, script.http.stream("GET", f"/{what}/{followed}/watch") as answer:
                for _ in answer.iter_raw():
                    began.set()

        reader = threading.Thread(target=follow)
        reader.start()
        assert began.wait(10)
        if how == "disable":
            api.json("POST", "/users/ada/disable", json={})
        elif how == "delete key":
            api("DELETE", f"/keys/{key.removeprefix('dk-').partition('.')[0]}")
        else:
            api("DELETE", "/projects/default/members/ada")
        reader.join(timeout=10)
        assert not reader.is_alive()

    def test_the_last_admin_stays(self, world: World, api: Api) -> None:
        last = "admin is the last admin; make somebody else one first: danlu users admin NAME"
        assert told(api("POST", "/users/admin/disable", json={})) == (409, last)
        assert told(api("PATCH", "/users/admin", json={"is_admin": False})) == (409, last)
        world.add_user("ada")
        assert api.json("PATCH", "/users/ada", json={"is_admin": True})["is_admin"] is True
        assert api.json("POST", "/users/admin/disable", json={})["state"] == "disabled"


class TestThrottling:
    def test_the_sixth_wrong_password_waits_and_the_wait_is_said(self, world: World, api: Api) -> None:
        api("PUT", "/me/password", json={"password": GOOD})
        for _ in range(5):
            assert sign_in_as(api, "admin", "wrong").status_code == 401
        refused = sign_in_as(api, "admin")
        assert told(refused) == (429, "too many wrong passwords; try again in 1s")
        assert refused.headers["Retry-After"] == "1"
        world.clock.pass_seconds(1)
        assert sign_in_as(api, "admin").status_code == 200
        assert sign_in_as(api, "admin", "wrong").status_code == 401  # and the count began anew

    def test_names_that_do_not_exist_are_treated_alike(self, world: World, api: Api) -> None:
        answers = [told(sign_in_as(api, "nobody-such", "wrong")) for _ in range(6)]
        assert answers == [(401, WRONG)] * 5 + [(429, "too many wrong passwords; try again in 1s")]

    def test_it_survives_a_restart(self, world: World, api: Api) -> None:
        for _ in range(5):
            world.database.write(sign_in.count_try, "admin", "10.0.0.1", world.clock())
        with make_world(world.folder) as again, pytest.raises(TooManyRequests):
            again.database.write(sign_in.count_try, "admin", "10.0.0.1", world.clock())

    def test_somebody_elsewhere_keeps_nobody_out(self, world: World, api: Api) -> None:
        """A thousand addresses guess; where the person has been before, nothing is noticed."""
        api("PUT", "/me/password", json={"password": GOOD})
        assert sign_in_as(api, "admin").status_code == 200
        for number in range(60):
            try:
                world.database.write(sign_in.count_try, "admin", f"10.0.1.{number}", world.clock())
            except TooManyRequests:
                break
        else:
            pytest.fail("guessing from many addresses is never held up")
        assert number == 50
        assert sign_in_as(api, "admin").status_code == 200

    def test_one_address_guesses_many_names_slowly(self, world: World) -> None:
        for number in range(30):
            world.database.write(sign_in.count_try, f"name{number}", "10.0.0.9", world.clock())
        with pytest.raises(TooManyRequests):
            world.database.write(sign_in.count_try, "name30", "10.0.0.9", world.clock())
        world.database.write(sign_in.count_try, "name1", "10.0.0.8", world.clock())

    def test_many_at_once_are_no_way_around(self, world: World, api: Api) -> None:
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda: statuses.append(sign_in_as(api, "admin", "wrong").status_code))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses.count(401) == 5
        assert statuses.count(429) == 3

    def test_counts_hold_no_names_and_are_forgotten(self, world: World, api: Api) -> None:
        sign_in_as(api, "typed-my-password-here", "wrong")
        with world.database.reading() as session:
            keys = [str(row[0]) for row in session.execute(text("SELECT key FROM failures"))]
        assert len(keys) == 3
        assert all("typed" not in key for key in keys)
        world.clock.pass_seconds(3601)
        sign_in_as(api, "somebody", "wrong")
        with world.database.reading() as session:
            assert session.scalar(text("SELECT count(*) FROM failures")) == 3

    def test_who_finds_no_turn_is_told_when_to_come_back(self, world: World) -> None:
        """Few hash passwords at a time; the rest hear it at once instead of holding the server's threads."""
        passwords = Passwords(turns=Turns(num_at_once=1, max_waiting=0))
        busy = copy(world)
        busy.state = replace(world.state, passwords=passwords)
        with busy.serving() as url, Api(url) as api, passwords.turns.take():
            began = time.monotonic()
            response = api("POST", "/session", json={"name": "admin", "password": "wrong"})
            assert told(response) == (429, "too many people sign in at the moment; try again in 2 seconds")
            assert response.headers["Retry-After"] == "2"
            assert time.monotonic() - began < 1.5
            assert api("GET", "/health").status_code == 200
        with world.database.reading() as session:  # it was no wrong password
            assert session.scalar(text("SELECT count(*) FROM failures")) == 0

    def test_an_unknown_name_takes_as_long_as_a_known_one(self, world: World, api: Api) -> None:
        state = replace(world.state, passwords=Passwords())
        world.database.write(people.set_password, world.admin.user_id, state.passwords.hash(GOOD))

        def seconds(name: str) -> float:
            best = 10.0
            for number in range(3):
                began = time.perf_counter()
                sign_in.check_password(state, name, "wrong", replace(world.admin.origin, address=f"{number}"))
                best = min(best, time.perf_counter() - began)
            return best

        known, unknown = seconds("admin"), seconds("nobody-such")
        assert 0.5 < known / unknown < 2.0


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
