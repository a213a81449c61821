"""Passwords are set, changed and reset; people are disabled, and come back."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.support.persons import GOOD, WRONG, as_, sign_in_as, token_of, told
from tests.support.world import Api, World


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
            assert message.startswith("current: the current password is missing or wrong; an admin can create a link")
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
        assert began.wait()
        if how == "disable":
            api.json("POST", "/users/ada/disable", json={})
        elif how == "delete key":
            api("DELETE", f"/keys/{key.removeprefix('dk-').partition('.')[0]}")
        else:
            api("DELETE", "/projects/default/members/ada")
        reader.join()
        assert not reader.is_alive()

    def test_the_last_admin_stays(self, world: World, api: Api) -> None:
        last = "admin is the last admin; make another user an admin first: danlu users admin NAME"
        assert told(api("POST", "/users/admin/disable", json={})) == (409, last)
        assert told(api("PATCH", "/users/admin", json={"is_admin": False})) == (409, last)
        world.add_user("ada")
        assert api.json("PATCH", "/users/ada", json={"is_admin": True})["is_admin"] is True
        assert api.json("POST", "/users/admin/disable", json={})["state"] == "disabled"
