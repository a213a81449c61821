"""Who may do what over HTTP: nobody without credentials, a job only its own, a browser only with its CSRF word."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from tests.support.world import Api, World

from danlu.auth.identity import Role
from danlu.server.people import service as people_service

OPEN = {
    ("GET", "/signin"),
    ("POST", "/signin"),
    ("GET", "/signin/oidc"),  # 404 where there is no provider
    ("GET", "/signin/oidc/callback"),
    ("GET", "/signin/cli"),  # pages that say 401 themselves, tested in test_oidc.py
    ("POST", "/signin/cli"),
    ("POST", "/api/v1/session"),
    ("POST", "/api/v1/registrations"),
    ("GET", "/api/v1/health"),
}
"""Every other route needs credentials. The description of the API (openapi.json) is open as well."""


def routes(world: World) -> list[tuple[str, str]]:
    found = [
        (method, str(route.path))
        for route in iter_route_contexts(world.app().routes)
        for method in sorted(route.methods or ())
        if route.path != "/api/v1/openapi.json"
    ]
    assert len(found) > 25, "the walk finds no routes any more"
    return found


def filled(path: str) -> str:
    values = {
        "job": "train-1",
        "bucket": "main",
        "node": "here",
        "key:path": "a",
        "digest": "a" * 64,
        "rank": "0",
        "terminal": "x",
        "run": "x",
        "journal": "x",
        "media": "x",
        "key_id": "x",
        "model": "x",
        "which": "1",
        "version_id": "x",
        "alias": "x",
        "template": "x",
        "project": "default",
        "registration": "x",
        "invitation": "x",
        "user": "admin",
        "upload": "x",
        "artifact": "x",
        "example": "hello",
        "version": "x",
        "flavor": "x",
        "framework": "x",
        "endpoint": "8080",
        "ssh_key": "x",
        "webhook": "x",
        "view": "x",
    }
    return re.sub(r"\{([^}]+)\}", lambda found: values[found.group(1)], path)


def code(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]


class TestNobody:
    def test_no_route_answers_without_credentials(self, world: World) -> None:
        with world.serving() as url, Api(url) as api:
            for method, path in routes(world):
                if (method, path) in OPEN:
                    continue
                response = api.http.request(method, f"{url}{filled(path)}")
                assert response.status_code == 401, f"{method} {path} answers {response.status_code}"
                if method != "HEAD":
                    assert response.json()["error"] == "NotSignedIn"
                assert response.headers["WWW-Authenticate"] == "Bearer"

    def test_the_open_routes_are_still_there(self, world: World) -> None:
        assert set(routes(world)) >= OPEN

    @pytest.mark.parametrize(
        "header", ["Bearer", "Bearer x", "Bearer dk-1.x", "Bearer jt-x", "Basic YTpi", "Bearer dk-é.x"]
    )
    def test_wrong_credentials(self, world: World, header: str) -> None:
        with world.serving() as url, Api(url) as api:
            response = api.http.get("/me", headers=[(b"Authorization", header.encode("latin-1"))])
            assert code(response) == (401, "NotSignedIn")


class TestKeys:
    def test_a_key_works_until_it_is_deleted(self, world: World, api: Api) -> None:
        made = api.json("POST", "/keys", json={"name": "laptop"})
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), made["api_key"]) as other:
            assert other.json("GET", "/me")["name"] == "admin"
            assert api("DELETE", f"/keys/{made['id']}").status_code == 204
            response = other("GET", "/me")
            assert response.status_code == 401
            assert response.json()["message"].startswith("the API key is unknown or was deleted")

    def test_a_key_expires(self, world: World, api: Api) -> None:
        made = api.json("POST", "/keys", json={"expires_in_days": 1})
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), made["api_key"]) as other:
            assert other("GET", "/me").status_code == 200
            world.clock.pass_seconds(86401)
            assert other("GET", "/me").json()["message"].startswith("the API key expired on 2026-01-02")

    def test_a_key_is_shown_once_and_never_stored(self, world: World, api: Api) -> None:
        made = api.json("POST", "/keys", json={})
        secret = made["api_key"].partition(".")[2]
        assert secret not in api("GET", "/keys").text
        assert all(
            secret.encode() not in file.read_bytes() for file in world.settings.server_dir.iterdir() if file.is_file()
        )

    def test_somebody_elses_key_is_not_there(self, world: World, api: Api) -> None:
        mine = api.json("POST", "/keys", json={})
        ann = world.add_user("ann", "vision")
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(ann)) as other:
            assert other("DELETE", f"/keys/{mine['id']}").status_code == 404
            assert len(other.json("GET", "/keys")["items"]) == 1

    def test_an_account_that_is_not_active_is_nobody(self, world: World, api: Api) -> None:
        from danlu.store.queries import people

        ann = world.add_user("ann", "vision")
        key = world.api_key(ann)
        with world.database.writing() as session:
            user = people.get_user(session, ann.user_id)
            assert user is not None
            user.is_active = False
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), key) as other:
            assert other("GET", "/me").json()["message"] == "the account is not active; ask an admin"


class TestBrowser:
    def sign_in(self, world: World, api: Api) -> str:
        """Sign the client in by link, with nothing but the cookie; return the CSRF word."""
        token = world.database.write(people_service.make_link, "admin", world.clock())
        return str(api.json("POST", "/session", json={"token": token})["csrf"])

    def test_reading_needs_the_cookie_and_changing_the_csrf_word(self, world: World) -> None:
        with world.serving() as url, Api(url) as browser:
            csrf = self.sign_in(world, browser)
            assert browser.json("GET", "/me")["name"] == "admin"
            assert code(browser("POST", "/keys", json={})) == (403, "NotAllowed")
            assert code(browser("POST", "/keys", json={}, headers={"X-Danlu-CSRF": "wrong"})) == (403, "NotAllowed")
            assert browser("POST", "/keys", json={}, headers={"X-Danlu-CSRF": csrf}).status_code == 201

    def test_every_route_that_changes_something_wants_the_csrf_word(self, world: World) -> None:
        with world.serving() as url, Api(url) as browser:
            self.sign_in(world, browser)
            for method, path in routes(world):
                if method in ("POST", "PUT", "DELETE", "PATCH") and (method, path) not in OPEN:
                    response = browser.http.request(method, f"{url}{filled(path)}")
                    assert response.status_code == 403, f"{method} {path} answers {response.status_code}"

    def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(self, world: World) -> None:
        with world.serving() as url, Api(url) as browser:
            token = world.database.write(people_service.make_link, "admin", world.clock())
            cookie = browser("POST", "/session", json={"token": token}).headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=strict" in cookie

    def test_a_link_works_once(self, world: World) -> None:
        with world.serving() as url, Api(url) as browser:
            token = world.database.write(people_service.make_link, "admin", world.clock())
            assert browser("POST", "/session", json={"token": token}).status_code == 200
            assert code(browser("POST", "/session", json={"token": token})) == (401, "NotSignedIn")

    def test_a_link_does_not_work_after_a_day(self, world: World) -> None:
        with world.serving() as url, Api(url) as browser:
            token = world.database.write(people_service.make_link, "admin", world.clock())
            world.clock.pass_seconds(86401)
            assert code(browser("POST", "/session", json={"token": token})) == (401, "NotSignedIn")

    def test_looking_at_a_link_does_not_use_it_up(self, world: World) -> None:
        with world.serving() as url, Api(url) as browser:
            token = world.database.write(people_service.make_link, "admin", world.clock())
            assert browser.http.get(f"{url}/signin", params={"token": token}).status_code == 200
            done = browser.http.post(f"{url}/signin", data={"token": token})
            assert done.status_code == 303
            assert browser.json("GET", "/me")["name"] == "admin"

    def test_signing_out_ends_the_session(self, world: World) -> None:
        with world.serving() as url, Api(url) as browser:
            csrf = self.sign_in(world, browser)
            cookie = browser.http.cookies["danlu_session"]
            assert browser("DELETE", "/session", headers={"X-Danlu-CSRF": csrf}).status_code == 204
            with Api(url, Cookie=f"danlu_session={cookie}") as copy:
                assert copy("GET", "/me").status_code == 401

    def test_a_session_ends_by_itself(self, world: World) -> None:
        with world.serving() as url, Api(url) as browser:
            self.sign_in(world, browser)
            world.clock.pass_seconds(15 * 86400)
            assert browser("GET", "/me").json()["message"] == "the browser session has expired; sign in again"

    def test_a_password_signs_in(self, world: World, api: Api) -> None:
        assert api("PUT", "/me/password", json={"password": "correct horse"}).status_code == 204
        right = {"name": "admin", "password": "correct horse"}
        assert api.json("POST", "/session", json=right)["user"] == "admin"
        assert code(api("POST", "/session", json={**right, "password": "wrong"})) == (401, "NotSignedIn")
        assert code(api("POST", "/session", json={**right, "name": "nobody"})) == (401, "NotSignedIn")


class TestJobToken:
    """A job reads its inputs and writes its output, nothing else, and nothing after its end."""

    def job(self, world: World, api: Api) -> tuple[str, Api, str]:
        for key in ("data/train/1", "data/train2/secret", "data/other", "code/main.py", "jobs/train-9/model.pt"):
            assert api("PUT", f"/buckets/main/objects/{key}", content=b"x").status_code == 200
        content = b"print('hello')\n"
        blob = hashlib.sha256(content).hexdigest()
        assert api("PUT", f"/blobs/{blob}", content=content).status_code == 204
        files = [{"path": "main.py", "sha256": blob, "size": len(content)}]
        tree = api.json("POST", "/trees", json={"files": files})["digest"]
        job_id = world.started(data={"store://main/data/train": "train"}, code={"tree": tree})
        url = str(api.http.base_url).removesuffix("/api/v1/")
        return job_id, Api(url, world.job_token(job_id)), tree

    def test_what_it_may(self, world: World, api: Api) -> None:
        job_id, token, tree = self.job(world, api)
        with token:
            assert token("GET", "/buckets/main/objects/data/train/1").status_code == 200
            assert token("HEAD", "/buckets/main/objects/data/train/1").status_code == 200
            assert token("GET", "/buckets/main/objects?prefix=data/train/").status_code == 200
            assert token("PUT", f"/buckets/main/objects/jobs/{job_id}/model.pt", content=b"x").status_code == 200
            files = token.json("GET", f"/trees/{tree}")["files"]
            assert token("GET", f"/blobs/{files[0]['sha256']}").status_code == 200

    def test_it_sees_no_names_beside_its_inputs(self, world: World, api: Api) -> None:
        _, token, _ = self.job(world, api)
        with token:
            listed = token.json("GET", "/buckets/main/objects?prefix=data/train")
            assert [item["key"] for item in listed["objects"]] == ["data/train/1"]
            folders = token.json("GET", "/buckets/main/objects?prefix=data/train&delimiter=/")["folders"]
            assert folders == ["data/train/"]

    FORBIDDEN = (
        "GET /buckets/main/objects/data/other",
        "GET /buckets/main/objects/data/train2/secret",
        "GET /buckets/main/objects/jobs/train-9/model.pt",
        "GET /buckets/main/objects/code/main.py",
        "GET /buckets/main/objects?prefix=",
        "GET /buckets/main/objects?prefix=data",
        "GET /buckets/main/objects?prefix=data/",
        "GET /buckets/main/objects?prefix=jobs/",
        "PUT /buckets/main/objects/data/train/1",
        "PUT /buckets/main/objects/jobs/train-9/model.pt",
        "PUT /buckets/main/objects/jobs/OWN2/model.pt",
        "DELETE /buckets/main/objects/jobs/OWN/model.pt",
        "DELETE /buckets/main/objects?prefix=jobs/OWN/",
        "GET /buckets",
        "POST /buckets",
        "GET /jobs",
        "POST /jobs",
        "GET /jobs/OWN",
        "POST /jobs/OWN/stop",
        "GET /jobs/OWN/logs",
        "GET /nodes",
        "GET /keys",
        "POST /keys",
        "PUT /me/password",
        "POST /trees",
        f"PUT /blobs/{'a' * 64}",
        f"GET /blobs/{'a' * 64}",
        f"GET /trees/{'a' * 64}",
    )

    def test_what_it_may_not(self, world: World, api: Api) -> None:
        job_id, token, _ = self.job(world, api)
        with token:
            for line in self.FORBIDDEN:
                method, _, path = line.replace("OWN", job_id).partition(" ")
                response = token(method, path, **({"json": {}} if method == "POST" else {}))
                assert code(response) == (403, "NotAllowed"), line

    def test_it_is_worth_nothing_after_the_end(self, world: World, api: Api) -> None:
        job_id, token, _ = self.job(world, api)
        with token:
            world.engine.finish(job_id)
            world.tick()
            assert code(token("GET", "/buckets/main/objects/data/train/1")) == (401, "NotSignedIn")

    def test_an_earlier_attempts_token_is_worth_nothing(self, world: World, api: Api) -> None:
        job_id, token, _ = self.job(world, api)
        with token:
            world.engine.finish(job_id, code=1)
            world.tick()
            api.json("POST", f"/jobs/{job_id}/start")
            world.tick()
            assert code(token("GET", "/buckets/main/objects/data/train/1")) == (401, "NotSignedIn")


class TestOthers:
    """Nobody reads or changes what is not theirs; what one may not see does not exist."""

    @pytest.fixture
    def stranger(self, world: World, api: Api) -> Api:
        made = world.add_user("eve", "other")
        return Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(made))

    def test_a_stranger_sees_neither_jobs_nor_buckets(self, world: World, api: Api, stranger: Api) -> None:
        job_id = world.started()
        api("PUT", "/buckets/main/objects/a", content=b"x")
        with stranger:
            assert stranger.json("GET", "/jobs")["items"] == []
            assert [item["name"] for item in stranger.json("GET", "/buckets")["items"]] == ["other"]
            for line in (
                f"GET /jobs/{job_id}",
                f"GET /jobs/{job_id}/logs",
                f"GET /jobs/{job_id}/logs/0",
                f"GET /jobs/{job_id}/events",
                f"GET /jobs/{job_id}/watch",
                f"POST /jobs/{job_id}/stop",
                f"DELETE /jobs/{job_id}",
                "GET /jobs/job",
                "GET /buckets/main/objects/a",
                "GET /buckets/main/objects",
                "PUT /buckets/main/objects/a",
                "DELETE /buckets/main/objects/a",
                "DELETE /buckets/main/objects?prefix=a",
            ):
                method, _, path = line.partition(" ")
                assert code(stranger(method, path)) == (404, "NotFound"), line
            refused = stranger.json("POST", "/jobs/stop", json={"jobs": [job_id]})
            assert refused["done"] == []
            assert refused["refused"] == {job_id: f"no job '{job_id}'; `danlu ps -a` lists them"}
            assert code(
                stranger("POST", "/jobs", json={"spec": {"name": "a", "command": "x", "output": "main/x"}})
            ) == (
                422,
                "InvalidSpec",
            )
            assert code(
                stranger("POST", "/jobs", json={"spec": {"name": "a", "command": "x", "data": {"main/a": "a"}}})
            ) == (422, "InvalidSpec")

    def test_a_viewer_looks_and_changes_nothing(self, world: World, api: Api) -> None:
        viewer = world.add_user("vic", "default", Role.VIEWER)
        job_id = world.started()
        api("PUT", "/buckets/main/objects/a", content=b"x")
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(viewer)) as vic:
            assert vic.json("GET", f"/jobs/{job_id}")["id"] == job_id
            assert vic("GET", "/buckets/main/objects/a").status_code == 200
            assert code(vic("PUT", "/buckets/main/objects/a", content=b"y")) == (403, "NotAllowed")
            assert code(vic("POST", f"/jobs/{job_id}/stop")) == (403, "NotAllowed")
            assert code(vic("POST", "/jobs", json={"spec": {"name": "a", "command": "x"}})) == (403, "NotAllowed")

    def test_a_member_stops_own_jobs_only(self, world: World, api: Api) -> None:
        member = world.add_user("max", "default", Role.MEMBER)
        admins = world.submit()
        own = world.submit(member)
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(member)) as client:
            assert code(client("POST", f"/jobs/{admins}/stop")) == (403, "NotAllowed")
            assert client("POST", f"/jobs/{own}/stop").status_code == 200

    def test_bytes_that_somebody_else_sent_cannot_be_named(self, world: World, api: Api, stranger: Api) -> None:
        content = b"secret code"
        digest = hashlib.sha256(content).hexdigest()
        api("PUT", f"/blobs/{digest}", content=content)
        with stranger:
            assert stranger("GET", f"/blobs/{digest}").status_code == 404
            files = [{"path": "a", "sha256": digest, "size": len(content)}]
            assert stranger.json("POST", "/trees", json={"files": files})["missing"] == [digest]
