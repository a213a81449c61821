"""Keys, sessions and tokens: none makes one that lasts longer, and no other site signs anybody in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.support.attack import SECRET, Sides, put_object, told
from tests.support.world import Api

from danlu.server.people import service as people_service

FOREIGN_SITES = [
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://job.localhost"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
]
OWN_SITES: list[dict[str, str]] = [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}]


@pytest.fixture
def short(sides: Sides) -> Iterator[Api]:
    """The admin, with a key that somebody has found: it ends in a day."""
    with sides.person("admin", expires_in_days=1) as made:
        yield made


@pytest.fixture
def link(sides: Sides) -> str:
    """The token of a link with which eve would sign somebody in as herself."""
    return sides.world.database.write(people_service.make_link, "eve", sides.world.clock())


class TestKeysThatEnd:
    @pytest.mark.parametrize("days", [None, 1, 2, 3650])
    def test_one_makes_no_key_that_outlives_it(self, sides: Sides, short: Api, days: int | None) -> None:
        sides.world.clock.pass_seconds(60)
        status, message = told(short("POST", "/keys", json={"name": "x", "expires_in_days": days}))
        assert status == 422
        assert message.startswith("expires_in_days: expected up to 2026-01-02 12:00 UTC")
        assert len(sides.admin.json("GET", "/keys")["items"]) == 2

    def test_one_makes_a_shorter_one(self, sides: Sides) -> None:
        with sides.person("ada", expires_in_days=30) as month:
            made = month.json("POST", "/keys", json={"expires_in_days": 7})
        with Api(sides.url, made["api_key"]) as week:
            assert week.json("GET", "/me")["name"] == "ada"
            assert week("POST", "/keys", json={"expires_in_days": 8}).status_code == 422

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", "/users/admin/link", {}),
            ("POST", "/users/ada/link", {"ends_access": True}),
            ("POST", "/users", {"name": "backdoor", "is_admin": True}),
            ("PATCH", "/users/eve", {"is_admin": True}),
            ("PUT", "/me/password", {"password": "a password of mine"}),
        ],
    )
    def test_one_makes_no_other_way_in(
        self, sides: Sides, short: Api, method: str, path: str, body: dict[str, Any]
    ) -> None:
        status, message = told(short(method, path, json=body))
        assert (status, "outlives this API key" in message) == (403, True)
        assert sides.admin("GET", "/users/backdoor").status_code == 404
        assert not sides.admin.json("GET", "/users/eve")["is_admin"]

    def test_nor_does_it_let_in_who_has_registered(self, sides: Sides, short: Api) -> None:
        body = {"name": "backdoor", "password": "a password of mine"}
        assert Api(sides.url)("POST", "/registrations", json=body).status_code == 202
        (waiting,) = sides.admin.json("GET", "/registrations")["items"]
        refused = short("POST", f"/registrations/{waiting['id']}/approve", json={"project": "vision", "role": "owner"})
        assert refused.status_code == 403

    def test_at_its_end_nothing_of_it_is_left(self, sides: Sides, short: Api) -> None:
        sides.world.clock.now += timedelta(days=1, seconds=1)
        assert short("GET", "/me").status_code == 401


class TestSignIn:
    @pytest.mark.parametrize("headers", FOREIGN_SITES)
    def test_a_form_of_another_site_signs_nobody_in(self, sides: Sides, link: str, headers: dict[str, str]) -> None:
        """Its reader would work in the attacker's account without noticing."""
        with httpx.Client(base_url=sides.url) as browser:
            answer = browser.post("/signin", data={"token": link}, headers=headers)
            assert answer.status_code == 403
            assert "set-cookie" not in answer.headers
            assert browser.post("/signin", data={"token": link}, headers=OWN_SITES[1]).status_code == 303

    @pytest.mark.parametrize("headers", FOREIGN_SITES)
    def test_nor_a_script_of_another_site(self, sides: Sides, link: str, headers: dict[str, str]) -> None:
        with httpx.Client(base_url=sides.url) as browser:
            answer = browser.post("/api/v1/session", content=f'{{"token": "{link}"}}', headers=headers)
            assert answer.status_code == 403
            assert "set-cookie" not in answer.headers

    @pytest.mark.parametrize("headers", OWN_SITES)
    def test_the_own_page_and_programs_do(self, sides: Sides, link: str, headers: dict[str, str]) -> None:
        with httpx.Client(base_url=sides.url) as browser:
            assert browser.post("/api/v1/session", json={"token": link}, headers=headers).json()["user"] == "eve"

    def test_behind_a_proxy_the_public_name_is_ours_too(self, sides: Sides, link: str) -> None:
        settings = sides.world.state.settings.model_copy(update={"public_url": "https://danlu.example.org"})
        object.__setattr__(sides.world.state, "settings", settings)
        with httpx.Client(base_url=sides.url) as browser:
            own = {"Origin": "https://danlu.example.org"}
            near = {"Origin": "https://danlu.example.org.evil.example"}
            assert browser.post("/signin", data={"token": link}, headers=near).status_code == 403
            assert browser.post("/signin", data={"token": link}, headers=own).status_code == 303

    def test_a_session_changes_nothing_without_its_word(self, sides: Sides, link: str) -> None:
        with httpx.Client(base_url=sides.url) as browser:
            browser.post("/api/v1/session", json={"token": link})
            for headers in ({}, {"X-Danlu-CSRF": "guess"}):
                answer = browser.post("/api/v1/keys", json={}, headers=headers)
                assert answer.status_code == 403


class TestJobTokens:
    def test_a_token_ends_with_its_attempt(self, sides: Sides) -> None:
        put_object(sides.ada, "vision/data/secret")
        job = sides.started("ada", data={"store://vision/data/": "data"})
        with sides.token(job) as token:
            assert token("GET", "/buckets/vision/objects/data/secret").content == SECRET
            sides.ada.json("POST", f"/jobs/{job}/stop")
            sides.world.tick(3)
            assert token("GET", "/buckets/vision/objects/data/secret").status_code == 401

    def test_the_output_of_a_job_is_not_for_another_one(self, sides: Sides) -> None:
        first, second = sides.started("ada"), sides.started("ada")
        with sides.token(second) as token:
            answer = token("PUT", f"/buckets/vision/objects/jobs/{first}/model", content=b"bad")
            assert answer.status_code == 403
            near = token("PUT", f"/buckets/vision/objects/jobs/{second}x/model", content=b"bad")
            assert near.status_code == 403

    def test_an_upload_does_not_end_after_the_attempt(self, sides: Sides) -> None:
        job = sides.started("ada")

        def body() -> Iterator[bytes]:
            yield b"ba"
            sides.ada.json("POST", f"/jobs/{job}/stop")
            sides.world.tick(3)
            yield b"d"

        with sides.token(job) as token:
            answer = token("PUT", f"/buckets/vision/objects/jobs/{job}/model", content=body())
        assert answer.status_code == 401
        assert sides.ada.json("GET", f"/buckets/vision/objects?prefix=jobs/{job}/")["objects"] == []

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("POST", "/keys"),
            ("GET", "/me"),
            ("GET", "/invitations"),
            ("PUT", "/me/default-project"),
            ("POST", "/projects/vision/invitations"),
            ("POST", "/trees"),
            ("GET", "/jobs"),
            ("GET", "/audit"),
        ],
    )
    def test_a_token_is_nobody_else(self, sides: Sides, method: str, path: str) -> None:
        with sides.token(sides.started("ada")) as token:
            assert token(method, path, json={} if method != "GET" else None).status_code == 403
