"""Who changed what is noted: by every route that changes something, with where it came from, and without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select, text
from tests.support.cases import Case
from tests.support.rights import API, expected, path_of
from tests.support.rule_lines import SSH_KEY
from tests.support.rules import RULES
from tests.support.scene import PASSWORD, PEOPLE, Scene, make_scene
from tests.support.world import Api, World

from danlu.spec.audit import Action
from danlu.store.sql.audit_tables import AuditRow

NOT_NOTED = {
    ("POST", "/jobs/plan"): "changes nothing",
    ("POST", "/buckets/{bucket}/reads"): "changes nothing",
    ("POST", "/jobs/{job}/metrics"): "points of a run, which is noted",
    ("PUT", "/runs/{run}/journals/{journal}"): "points of a run, which is noted",
    ("POST", "/runs/{run}/restore"): "quiet for a run that is not in the trash; tested below",
    ("POST", "/uploads/{upload}/grants"): "bytes that are not an object yet; the commit is noted",
    ("POST", "/jobs/{job}/terminals"): "needs a task that runs; tests/e2e/test_debug.py looks for the note",
    ("POST", "/jobs/{job}/terminals/{terminal}/input"): "going in is noted, not what is typed there",
    ("PUT", "/jobs/{job}/terminals/{terminal}/size"): "of a window",
    ("DELETE", "/jobs/{job}/terminals/{terminal}"): "going in is noted",
    ("PUT", "/notices/read"): "what somebody has looked at is theirs",
    ("PUT", "/favourites/{job}"): "what somebody wants to find again is theirs",
    ("DELETE", "/favourites/{job}"): "what somebody wants to find again is theirs",
    ("PUT", "/notices/wishes"): "which e-mail somebody gets is theirs",
    ("POST", "/webhooks/{webhook}/test"): "changes nothing; the delivery is listed",
    ("DELETE", "/webhooks/{webhook}"): "the matrix has none to remove; tests/server/test_webhooks.py",
    ("DELETE", "/ssh-keys/{ssh_key}"): "the matrix has none to remove; tested below",
    ("POST", "/jobs/{job}/endpoints/{endpoint}/links"): "needs a task that runs; tests/e2e/test_endpoints.py",
    ("POST", "/buckets/{bucket}/uploads"): "bytes that are not an object yet; the commit is noted",
    ("PUT", "/uploads/{upload}"): "bytes that are not an object yet; the commit is noted",
    ("DELETE", "/uploads/{upload}"): "bytes that never became an object",
    ("POST", "/artifacts/uploads"): "bytes that are not an artifact yet; the commit is noted",
    ("POST", "/artifacts/uploads/{artifact}/lacking"): "changes nothing that people see",
    ("POST", "/artifacts/uploads/{artifact}/chunks"): "bytes that are not an artifact yet; the commit is noted",
    ("POST", "/artifacts/versions/{version}/chunks"): "changes nothing",
    ("POST", "/trees"): "named by its content; the job that uses it is noted",
    ("PUT", "/blobs/{digest}"): "named by its content; the job that uses it is noted",
    ("POST", "/blobs/batches"): "as PUT /blobs/{digest}",
    ("POST", "/blobs/reads"): "reads only",
    ("POST", "/session"): "the matrix tries a wrong password; signing in is tested below",
    ("DELETE", "/session"): "the matrix has keys and no sessions; signing out is tested below",
}
CHANGING = sorted(route for route in RULES if route[0] not in ("GET", "HEAD") and route not in NOT_NOTED)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with make_scene(tmp_path_factory.mktemp("audit")) as made:
        yield made


def rows(world: World) -> list[AuditRow]:
    with world.database.reading() as session:
        return list(session.scalars(select(AuditRow).order_by(AuditRow.id)))


@pytest.mark.parametrize(("method", "path"), CHANGING)
def test_every_route_that_changes_something_is_noted(scene: Scene, method: str, path: str) -> None:
    rule = RULES[method, path]
    relation = next(one for one in ("others", "own", "any") if one in rule.lines and "2" in rule.lines[one].split())
    role = next(role for role, status in expected(rule, relation).items() if status == "2")
    case = Case(scene, role, relation)
    options = rule.request(case)
    if path in ("/jobs/stop", "/jobs/delete"):
        kind = "queued" if path == "/jobs/stop" else "over"
        options = {"json": {"jobs": [scene.jobs[role, "others"][kind]]}}
    before = {row.id: row.count for row in rows(scene.world)}
    response = scene.send(role, method, path_of(case, path, rule), **options)
    noted = [row for row in rows(scene.world) if before.get(row.id) != row.count]
    scene.restore()
    assert response.status_code < 300, response.text
    assert noted, f"{method} {path} changed something, and nothing is noted"
    last = noted[-1]
    assert last.address == "127.0.0.1"
    assert last.object.partition("/")[2], last.object
    if path != "/registrations":  # who registers is nobody yet
        assert (last.actor, last.via) == (PEOPLE[role], f"key {scene.key_ids[role]}")


def test_a_run_that_comes_out_of_the_bin_is_noted(scene: Scene) -> None:
    run = scene.runs["owner", "own"].run
    for method, path in (("DELETE", ""), ("POST", "/restore")):
        assert scene.send("owner", method, f"{API}/runs/{run}{path}").status_code < 300
    assert [row.action for row in rows(scene.world)][-2:] == ["run.delete", "run.restore"]
    scene.restore()


def test_a_key_for_ssh_that_is_removed_is_noted(scene: Scene) -> None:
    made = scene.send("member", "POST", f"{API}/ssh-keys", json={"public_key": SSH_KEY}).json()
    assert scene.send("member", "DELETE", f"{API}/ssh-keys/{made['id']}").status_code < 300
    assert [row.action for row in rows(scene.world)][-2:] == ["ssh_key.add", "ssh_key.remove"]
    scene.restore()


def test_nothing_is_noted_of_what_was_refused(scene: Scene) -> None:
    before = len(rows(scene.world))
    assert scene.send("viewer", "PATCH", f"{API}/projects/vision", json={"description": "x"}).status_code == 403
    assert scene.send("admin", "DELETE", f"{API}/projects/vision").status_code == 409
    assert len(rows(scene.world)) == before


@pytest.mark.parametrize(
    ("method", "path", "body", "left"),
    [
        ("POST", "/projects", {"name": "new"}, "SELECT count(*) FROM projects WHERE name = 'new'"),
        ("POST", "/users", {"name": "new"}, "SELECT count(*) FROM users WHERE name = 'new'"),
        ("PUT", "/projects/vision/members/vic", {"role": "owner"}, "SELECT count(*) FROM members WHERE role='owner'"),
        ("POST", "/keys", {}, "SELECT count(*) FROM api_keys"),
        ("POST", "/jobs", {"spec": {"name": "a", "command": "x"}}, "SELECT count(*) FROM jobs"),
        ("POST", "/users/max/disable", {"stops_jobs": True}, "SELECT count(*) FROM users WHERE NOT is_active"),
    ],
)
def test_what_cannot_be_noted_does_not_happen(scene: Scene, method: str, path: str, body: Any, left: str) -> None:
    """The note and the change are one transaction."""
    with scene.world.database.writing() as session:
        before = session.scalar(text(left))
        session.execute(text("ALTER TABLE audit_events RENAME TO gone"))
    response = scene.send("admin", method, f"{API}{path}", json=body)
    with scene.world.database.reading() as session:
        after = session.scalar(text(left))
    scene.restore()
    assert response.status_code == 503
    assert after == before


class TestSecrets:
    def test_none_is_in_the_trail(self, world: World, api: Api) -> None:
        secrets = [PASSWORD, "another good password"]
        api.json("POST", "/registrations", json={"name": "ada", "password": PASSWORD})
        waiting = api.json("GET", "/registrations")["items"][0]["id"]
        api.json("POST", f"/registrations/{waiting}/approve", json={})
        secrets.append(api.json("POST", "/users/ada/link", json={})["url"].partition("token=")[2])
        secrets.append(api.json("POST", "/users", json={"name": "bob"})["url"].partition("token=")[2])
        secrets.append(api.json("POST", "/keys", json={"name": "mine"})["api_key"].partition(".")[2])
        signed_in = api("POST", "/session", json={"name": "ada", "password": PASSWORD})
        secrets += [signed_in.json()["csrf"], signed_in.cookies["danlu_session"]]
        link = secrets[3]
        api.json("POST", "/session", json={"token": link, "new_password": "another good password"})
        job = {"name": "a", "command": "x", "secrets": {"TOKEN": "hush-hush-hush"}}
        api.json("POST", "/jobs", json={"spec": job})
        secrets.append("hush-hush-hush")
        told = json.dumps(api.json("GET", "/audit?limit=1000")["items"])
        assert len(api.json("GET", "/audit")["items"]) >= 9
        assert [secret for secret in secrets if secret in told] == []
        with world.database.reading() as session:
            for row in session.scalars(select(AuditRow)):
                stored = json.dumps([row.object, row.via, row.actor, row.details])
                assert [secret for secret in secrets if secret in stored] == []


class TestSigningIn:
    def test_in_and_out_name_the_session(self, world: World) -> None:
        with world.serving() as url, Api(url) as browser:
            from danlu.server.people import service

            token = world.database.write(service.make_link, "admin", world.clock())
            csrf = browser.json("POST", "/session", json={"token": token})["csrf"]
            browser("PUT", "/me/password", json={"password": PASSWORD}, headers={"X-Danlu-CSRF": csrf})
            browser("DELETE", "/session", headers={"X-Danlu-CSRF": csrf})
        found = rows(world)[-3:]
        assert [(row.actor, row.action) for row in found] == [
            ("admin", "session.open"),
            ("admin", "user.password"),
            ("admin", "session.close"),
        ]
        assert len({row.via for row in found}) == 1
        assert found[0].via.startswith("session ")


class TestReading:
    def test_pages_are_newest_first_and_miss_nothing(self, world: World, api: Api) -> None:
        for number in range(7):
            api.json("POST", "/projects", json={"name": f"p{number}"})
        seen: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = api.json("GET", "/audit", params={"limit": 3, **({"cursor": cursor} if cursor else {})})
            seen += page["items"]
            cursor = page["next"]
            if cursor is None:
                break
        assert [item["object"] for item in seen if item["action"] == "project.make"] == [
            f"project/p{number}" for number in range(6, -1, -1)
        ]
        assert [item["id"] for item in seen] == sorted((item["id"] for item in seen), reverse=True)

    def test_filters(self, world: World, api: Api) -> None:
        api.json("POST", "/projects", json={"name": "one"})
        world.clock.pass_seconds(3600)
        api.json("POST", "/projects", json={"name": "two"})
        api.json("PATCH", "/projects/two", json={"description": "x"})

        def objects(**wanted: str) -> list[str]:
            return [item["object"] for item in api.json("GET", "/audit", params=wanted)["items"]]

        assert objects(object="project/one") == ["project/one"]
        assert objects(action="project.change") == ["project/two"]
        assert objects(project="one") == ["project/one"]
        assert objects(person="nobody") == []
        assert objects(person="admin", action="project.make") == ["project/two", "project/one"]
        assert objects(since="2026-01-01T12:30:00Z", action="project.make") == ["project/two"]
        assert objects(until="2026-01-01T12:30:00Z", action="project.make") == ["project/one"]

    def test_files_that_come_by_the_thousand_are_one_event(self, world: World, api: Api) -> None:
        for number in range(5):
            assert api("PUT", f"/buckets/main/objects/a/{number}", content=b"x").status_code == 200
        world.clock.pass_seconds(61)
        api("PUT", "/buckets/main/objects/b", content=b"x")
        found = api.json("GET", "/audit", params={"action": "object.put"})["items"]
        assert [(item["count"], item["details"]) for item in found] == [(1, {"first": "b"}), (5, {"first": "a/0"})]

    def test_a_new_project_does_not_inherit_the_story_of_a_deleted_one(self, world: World, api: Api) -> None:
        api.json("POST", "/projects", json={"name": "secret-plan"})
        api("DELETE", "/projects/secret-plan")
        eve = world.add_user("eve", "fresh")
        api.json("PUT", "/projects/fresh/members/eve", json={"role": "owner"})
        with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(eve)) as client:
            assert "secret-plan" not in client("GET", "/audit").text

    @pytest.mark.parametrize(
        ("query", "told"),
        [
            ("cursor=x", "cursor: 'x' is not a cursor of this list; send the `next` of the previous page"),
            ("action=project.makes", "action: unknown value 'project.makes'; did you mean 'project.make'"),
            ("limit=0", "limit: expected at least 1, got '0'"),
        ],
    )
    def test_wrong_questions(self, api: Api, query: str, told: str) -> None:
        response = api("GET", f"/audit?{query}")
        assert response.status_code == 422
        assert told in response.json()["message"]

    def test_every_action_is_in_the_docs(self) -> None:
        from pathlib import Path

        guide = (Path(__file__).parents[2] / "docs" / "guide" / "people.md").read_text()
        assert [action for action in Action if f"`{action}`" not in guide] == []
