"""A job tries to do more than it may. Its code is anybody's: what its owner did not allow is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.attack import SECRET, Sides, put_object, told
from tests.support.world import Api

from danlu.auth.identity import Role
from danlu.content.ids import new_artifact_id
from danlu.store.queries import people, projects

NEW_RUN = "run-" + "b" * 26
SPEC = {"name": "child", "command": "train"}


def submit(api: Api, **spec: Any) -> Any:
    return api("POST", "/jobs", json={"spec": {**SPEC, **spec}})


def make_run(api: Api, run: str = NEW_RUN) -> Any:
    return api("POST", "/runs", json={"run": run, "name": "theirs"})


def role_of(sides: Sides, name: str, project: str, role: Role | None) -> None:
    with sides.world.database.writing() as session:
        row = projects.project_by_name(session, project)
        user = people.user_by_name(session, name)
        assert row is not None
        assert user is not None
        if role is None:
            projects.delete_member(session, row.id, user.id)
        else:
            projects.set_member(session, row.id, user.id, role.value)


class TestTokens:
    def test_of_an_attempt_that_is_over(self, sides: Sides) -> None:
        job = sides.started("ada", access="owner")
        with sides.token(job) as token:
            assert submit(token).status_code == 201
            sides.world.engine.finish(job)
            sides.world.tick(2)
            for method, path in (("GET", "/me"), ("GET", "/jobs"), ("POST", "/jobs"), ("POST", "/runs")):
                assert token(method, path, json={}).status_code == 401, path

    def test_of_the_attempt_before(self, sides: Sides) -> None:
        job = sides.started("ada", access="owner", retry={"max": 1, "on": ["exit:1"], "backoff": 0})
        sides.world.engine.finish(job, code=1)
        sides.world.tick(2)
        sides.world.clock.pass_seconds(10)
        sides.world.tick(2)
        assert sides.world.job(job).attempt == 2
        tokens = [sides.world.job_token(job, number) for number in (1, 2)]
        with Api(sides.url, tokens[0]) as first, Api(sides.url, tokens[1]) as now:
            assert first("GET", "/me").status_code == 401
            assert now.json("GET", "/me")["attempt"] == 2

    @pytest.mark.parametrize("change", ["jt-" + "0" * 64, "jt-", "dk-jt.x", "{}x", "{}, {}"])
    def test_that_nobody_gave_out(self, sides: Sides, change: str) -> None:
        real = sides.world.job_token(sides.started("ada", access="owner"))
        with Api(sides.url, change.format(real, real)) as forged:
            assert forged("GET", "/me").status_code == 401

    def test_as_the_cookie_of_a_browser(self, sides: Sides) -> None:
        real = sides.world.job_token(sides.started("ada", access="owner"))
        with Api(sides.url, "") as nobody:
            headers = {"Authorization": "", "Cookie": f"danlu_session={real}"}
            assert nobody("GET", "/me", headers=headers).status_code == 401


class TestWithoutAccess:
    """What every job gets unless its owner says more."""

    @pytest.fixture
    def token(self, sides: Sides) -> Any:
        put_object(sides.ada, "vision/data/secret")
        with sides.token(sides.started("ada")) as token:
            yield token

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", "/jobs", {"spec": SPEC}),
            ("POST", "/jobs/plan", {"spec": SPEC}),
            ("GET", "/jobs", None),
            ("POST", "/keys", {}),
            ("GET", "/keys", None),
            ("PUT", "/me/password", {"password": "a password of mine"}),
            ("PUT", "/me/default-project", {"project": "vision"}),
            ("GET", "/users", None),
            ("POST", "/users/ada/link", {}),
            ("PUT", "/projects/vision/members/eve", {"role": "owner"}),
            ("POST", "/projects/vision/invitations", {"user": "eve"}),
            ("PUT", "/projects/vision/quotas", {"project": {"npu": 1000}}),
            ("GET", "/audit", None),
            ("PUT", "/nodes/here/drain", {"reason": "mine"}),
            ("POST", "/buckets", {"name": "mine"}),
            ("DELETE", "/buckets/vision", None),
            ("GET", "/buckets", None),
            ("DELETE", "/buckets/vision/objects/data/secret", None),
            ("POST", "/templates", {"name": "x", "project": "vision", "spec": {}}),
            ("POST", "/flavors", {"name": "free"}),
            ("GET", "/runs", None),
            ("GET", "/artifacts", None),
            ("GET", "/models", None),
        ],
    )
    def test_it_is_told_what_it_would_need(self, token: Api, method: str, path: str, body: Any) -> None:
        status, message = told(token(method, path, json=body))
        assert status == 403
        assert "in its job file" in message or "only users may do this" in message

    def test_neither_data_nor_runs_of_its_own_project(self, sides: Sides, token: Api) -> None:
        assert make_run(sides.ada).status_code == 201
        answers = {
            "object": token("GET", "/buckets/vision/objects/data/secret"),
            "list": token("GET", "/buckets/vision/objects", params={"prefix": "data/"}),
            "other output": token("PUT", "/buckets/vision/objects/jobs/train-1/x", content=b"x"),
            "run": token("GET", f"/runs/{NEW_RUN}"),
            "journal": token("PUT", f"/runs/{NEW_RUN}/journals/x", params={"offset": 0}, content=b"x"),
        }
        assert {name: one.status_code for name, one in answers.items()} == {
            "object": 403, "list": 403, "other output": 403, "run": 404, "journal": 404
        }  # fmt: skip
        assert SECRET not in b"".join(one.content for one in answers.values())

    def test_to_be_shown_what_it_makes_way_for(self, sides: Sides, token: Api) -> None:
        sides.ada.json("POST", "/runs", json={"run": NEW_RUN, "name": "theirs", "hparams": {"secret": 1}})
        skipped = {"run": "run-" + "c" * 26, "name": "theirs", "conflict": "skip"}
        made = token.json("POST", "/runs", json=skipped)
        assert (made["id"], made["hparams"], made["description"]) == (NEW_RUN, {}, "")

    def test_a_run_or_an_artifact_in_the_name_of_another_job(self, sides: Sides, token: Api) -> None:
        other = sides.started("ada")
        made = token.json("POST", "/runs", json={"run": NEW_RUN, "name": "x", "job": other, "project": "evil"})
        assert (made["job"], made["project"]) == (token.json("GET", "/me")["job"], "vision")
        assert token("POST", f"/jobs/{other}/metrics", json={"metrics": [{"values": {"a": 1}}]}).status_code == 403

    @pytest.mark.parametrize(
        "more",
        [
            {"path": "vision/data/secret"},
            {"job": "OTHER"},
            {"job": "OWN", "aliases": ["champion"]},
            {"job": "OWN", "to": "vision/anywhere/"},
            {"job": "OWN", "project": "evil"},
            {"artifact": new_artifact_id()},
        ],
    )
    def test_a_model_that_is_not_from_itself(self, sides: Sides, token: Api, more: dict[str, Any]) -> None:
        own, other = token.json("GET", "/me")["job"], sides.started("ada")
        names = {"OWN": own, "OTHER": other}
        body = {name: names.get(value, value) if isinstance(value, str) else value for name, value in more.items()}
        status, message = told(token("POST", "/models", json={"name": "prod", **body}))
        assert (status, "registers models from itself only" in message) == (403, True)
        put = token("PUT", f"/buckets/vision/objects/jobs/{own}/model/weights", content=b"w")
        assert put.status_code == 200
        assert token("POST", "/models", json={"name": "prod", "job": own}).status_code == 201
        assert sides.ada.json("GET", "/models/prod/versions/1")["job"] == own


class TestReading:
    def test_it_reads_as_its_owner_and_changes_nothing(self, sides: Sides) -> None:
        put_object(sides.ada, "vision/data/secret")
        put_object(sides.eve, "evil/data/other")
        with sides.token(sides.started("ada", access="read")) as token:
            assert token("GET", "/buckets/vision/objects/data/secret").content == SECRET
            assert token.json("GET", "/buckets/vision/objects", params={"prefix": "da"})["objects"][0]["key"]
            assert token("GET", "/buckets/evil/objects/data/other").status_code == 404
            assert token("PUT", "/buckets/vision/objects/data/secret", content=b"x").status_code == 403
            assert submit(token).status_code == 403
            assert token("POST", "/jobs/stop", json={"jobs": ["x"]}).status_code == 403

    def test_an_admins_job_reads_as_a_member(self, sides: Sides) -> None:
        put_object(sides.ada, "vision/data/secret")
        with sides.token(sides.started("admin", access="read")) as token:
            assert token("GET", "/buckets/vision/objects/data/secret").status_code == 404
            assert token("GET", "/projects/vision").status_code == 404
            assert token.json("GET", "/me")["is_admin"] is False


class TestActing:
    @pytest.fixture
    def token(self, sides: Sides) -> Any:
        with sides.token(sides.started("ada", access="owner")) as token:
            yield token

    def test_it_submits_and_the_audit_log_names_it(self, sides: Sides, token: Api) -> None:
        own = token.json("GET", "/me")["job"]
        child = submit(token).json()
        assert (child["owner"], child["project"], child["spec"]["access"]) == ("ada", "vision", "own")
        events = sides.admin.json("GET", "/audit", params={"object": f"job/{child['id']}"})["items"]
        assert [(one["actor"], one["action"], one["via"]) for one in events] == [("ada", "job.submit", f"job {own}/1")]
        (given,) = sides.admin.json("GET", "/audit", params={"object": f"job/{own}"})["items"]
        assert given["details"]["access"] == "owner"

    @pytest.mark.parametrize("access", ["read", "owner"])
    def test_it_hands_no_access_on(self, token: Api, access: str) -> None:
        status, message = told(submit(token, access=access))
        assert (status, f"access: expected own, got '{access}'" in message) == (422, True)

    def test_it_starts_no_job_again_that_has_access(self, sides: Sides, token: Api) -> None:
        other = sides.started("ada", access="owner")
        sides.world.engine.finish(other)
        sides.world.tick(2)
        assert token("POST", f"/jobs/{other}/start").status_code == 422
        assert sides.ada("POST", f"/jobs/{other}/start").status_code == 200

    def test_only_in_its_own_project(self, sides: Sides, token: Api) -> None:
        role_of(sides, "ada", "evil", Role.OWNER)
        put_object(sides.eve, "evil/data/x", b"seen")
        assert token("GET", "/buckets/evil/objects/data/x").content == b"seen"
        assert submit(token, project="evil").status_code == 422
        assert token("PUT", "/buckets/evil/objects/data/x", content=b"x").status_code == 403
        assert token("POST", "/buckets", json={"name": "new", "project": "evil"}).status_code == 403

    def test_jobs_of_others_are_not_its_to_change_though_ada_owns_the_project(self, sides: Sides, token: Api) -> None:
        role_of(sides, "eve", "vision", Role.MEMBER)
        theirs = sides.started("eve", project="vision", secrets={"KEY": "hidden"})
        assert "hidden" not in token("GET", f"/jobs/{theirs}").text
        for path in ("stop", "pause", "terminals"):
            assert token("POST", f"/jobs/{theirs}/{path}", json={}).status_code == 403
        assert sides.ada("POST", f"/jobs/{theirs}/stop").status_code == 200

    def test_no_shell_not_even_its_owners(self, sides: Sides, token: Api) -> None:
        other = sides.started("ada")
        status, message = told(token("POST", f"/jobs/{other}/terminals", json={}))
        assert (status, message.startswith("only users may do this")) == (403, True)

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", "/keys", {}),
            ("PUT", "/me/password", {"password": "a password of mine"}),
            ("PUT", "/projects/vision/members/eve", {"role": "owner"}),
            ("POST", "/projects/vision/invitations", {"user": "eve"}),
            ("PUT", "/projects/vision/quotas", {"users": {"ada": {"npu": 9}}}),
            ("PATCH", "/projects/vision", {"is_archived": True}),
            ("POST", "/templates", {"name": "x", "project": "vision", "spec": {"access": "owner"}}),
            ("GET", "/audit", None),
        ],
    )
    def test_nothing_that_lasts_or_lets_others_in(self, token: Api, method: str, path: str, body: Any) -> None:
        assert token(method, path, json=body).status_code == 403

    def test_it_ends_with_what_its_owner_may(self, sides: Sides, token: Api) -> None:
        role_of(sides, "ada", "vision", Role.VIEWER)
        assert submit(token).status_code == 403
        assert token("GET", "/jobs").status_code == 200
        role_of(sides, "ada", "vision", None)
        assert token.json("GET", "/jobs")["items"] == []
        sides.admin("POST", "/users/ada/disable", json={})
        status, message = told(submit(token))
        assert (status, message.endswith("the account of its owner is disabled")) == (403, True)

    def test_an_admins_job_is_no_admin(self, sides: Sides) -> None:
        put_object(sides.ada, "vision/data/secret")
        with sides.token(sides.started("admin", access="owner")) as token:
            assert submit(token).status_code == 201
            assert submit(token, project="vision").status_code == 422
            assert token("GET", "/buckets/vision/objects/data/secret").status_code == 404
            for method, path, body in (
                ("POST", "/users", {"name": "backdoor"}),
                ("PUT", "/nodes/here/drain", {"reason": "x"}),
                ("POST", "/projects", {"name": "mine"}),
                ("GET", "/flavor-suggestions", None),
            ):
                assert token(method, path, json=body).status_code == 403, path

    def test_a_stream_ends_with_the_job(self, sides: Sides) -> None:
        job = sides.started("ada", access="read")
        with sides.token(job) as token, token.http.stream("GET", "/changes", params={"follow": "true"}) as response:
            lines = response.iter_lines()
            assert next(lines)
            sides.world.engine.finish(job)
            sides.world.tick(2)
            list(lines)  # it ends: whoever listens on is not told

    def test_a_key_that_ends_gives_no_access_that_does_not(self, sides: Sides) -> None:
        with sides.person("ada", expires_in_days=1) as short:
            status, message = told(submit(short, access="owner"))
            assert (status, message.startswith("a job with `access: owner` outlives this API key")) == (403, True)
            assert submit(short).status_code == 201
