"""What Eve stores is read by others: nothing of hers makes their lists fail, and nothing they ask for runs away."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.abuse import Scene
from tests.support.journals import JournalMaker
from tests.support.world import Api

from danlu import journal
from danlu.auth.identity import Role
from danlu.store.queries import people, projects

DEPTH = 400


def deep(depth: int = DEPTH) -> Any:
    return json.loads('{"a":' * depth + "1" + "}" * depth)


@pytest.fixture
def bob(scene: Scene) -> Api:
    """He is in her project now."""
    with scene.world.database.writing() as session:
        user, project = people.user_by_name(session, "bob"), projects.project_by_name(session, "eves")
        assert user is not None
        assert project is not None
        projects.set_member(session, project.id, user.id, Role.OWNER.value)
    return Api(scene.url, scene.bob)


class TestDeepValues:
    def test_of_a_run_are_cut_and_lists_can_be_read(self, scene: Scene, bob: Api) -> None:
        made = JournalMaker(name="deep", project="eves")
        with Api(scene.url, scene.eve) as eve, bob:
            answer = eve("POST", "/runs", json={**made.header, "hparams": deep(), "environment": {"env": deep()}})
            assert answer.status_code in (201, 422)
            data = made.add(journal.encode_set("summary", {"x": deep()}, time=1.0)).data
            eve("PUT", f"/runs/{made.run}/journals/{made.name}?offset=0", content=data)
            scene.world.state.metrics.ingest_changed()
            assert [run["name"] for run in bob.json("GET", "/runs")["items"]] == ["deep"]
            assert bob("GET", f"/runs/{made.run}").status_code == 200
            assert bob("GET", "/runs/changes").status_code == 200

    def test_of_templates_and_models_too(self, scene: Scene, bob: Api) -> None:
        with Api(scene.url, scene.eve) as eve, bob:
            template = {"name": "deep", "project": "eves", "is_shared": True, "spec": {"hyperparameters": deep()}}
            assert eve("POST", "/templates", json=template).status_code < 500
            assert bob("GET", "/templates").status_code == 200
            eve("PUT", "/buckets/eves/objects/weights", content=b"x")
            model = {"name": "deep", "project": "eves", "path": "eves/weights", "tags": {"a": deep()}}
            assert eve("POST", "/models", json=model).status_code < 500
            assert bob("GET", "/models").status_code == 200

    def test_a_frame_that_python_cannot_read_stops_no_other_journal(self, scene: Scene, bob: Api) -> None:
        wrong, right = JournalMaker(name="wrong", project="eves"), JournalMaker(name="right", project="eves")
        text = b'{"field": "hparams", "set": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001
        wrong.add(journal.encode_frame(journal.format.Kind.SET, text))
        right.log("train", {"loss": [1.0]}, [1])
        with Api(scene.url, scene.eve) as eve, bob:
            for made in (wrong, right):
                eve.json("POST", "/runs", json=made.header)
                eve("PUT", f"/runs/{made.run}/journals/{made.name}?offset=0", content=made.data)
            scene.world.state.metrics.ingest_changed()
            found = {run["name"]: run["step"] for run in bob.json("GET", "/runs")["items"]}
            assert found["right"] == 1


class TestQueries:
    @pytest.mark.parametrize(
        "path",
        [
            "/runs?filter=" + "(" * 1900 + "name = 'x'" + ")" * 1900,
            "/runs?filter=" + "not " * 900 + "name = 'x'",
            "/runs?filter=name in (" + ",".join("'x'" for _ in range(900)) + ")",
            "/runs?filter=" + " and ".join("metrics.a.b > 1" for _ in range(200)),
            "/runs?filter=name = '" + "\\\\" * 1900,
            "/jobs?" + "&".join(f"tag=a{number}=b" for number in range(1000)),
            "/jobs?" + "&".join("state=queued" for _ in range(5000)),
            "/runs/points?" + "&".join(f"run=x{number}" for number in range(1000)),
            "/buckets/eves/objects?prefix=" + "a/" * 490,
            "/buckets/eves/objects?delimiter=ab",
            "/jobs?cursor=" + "9" * 5000,
            "/jobs?limit=" + "9" * 5000,
        ],
    )
    def test_long_ones_are_answered_or_refused(self, scene: Scene, path: str) -> None:
        with Api(scene.url, scene.eve) as eve:
            answer = eve("GET", path)
            assert answer.status_code < 500, answer.text[:500]
            assert len(answer.content) < 100_000
        scene.bob_works()

    @pytest.mark.parametrize(
        "pattern", ["(" * 900, "a{1000}{1000}", "(a{0,1000}){0,1000}", "[" * 900, "(?i)" * 200, "\\\\C*", "(?:" * 300]
    )
    def test_patterns_that_want_too_much_are_refused(self, scene: Scene, pattern: str) -> None:
        job_id = scene.world.started(who=scene.world.identity("eve"), project="eves")
        scene.world.engine.task(job_id).log += b"a" * (4 << 20)
        scene.world.engine.finish(job_id)
        scene.world.tick()
        with Api(scene.url, scene.eve) as eve:
            answer = eve("GET", f"/jobs/{job_id}/logs", params={"grep": pattern})
            assert answer.status_code in (200, 422), answer.text[:500]

    def test_four_thousand_ranks_are_too_many_for_one_that_has_one(self, scene: Scene) -> None:
        job_id = scene.world.started(who=scene.world.identity("eve"), project="eves")
        with Api(scene.url, scene.eve) as eve:
            query = "&".join(f"rank={number}" for number in range(4096))
            assert eve("GET", f"/jobs/{job_id}/logs?{query}").status_code == 404
            assert eve("GET", f"/jobs/{job_id}/logs?{query}&rank=1").status_code == 422

    def test_ten_thousand_jobs_that_are_not_there(self, scene: Scene) -> None:
        ids = [f"train-{number:018}" for number in range(10_000)]
        with Api(scene.url, scene.eve) as eve:
            for verb in ("stop", "delete"):
                answer = eve("POST", f"/jobs/{verb}", json={"jobs": ids})
                assert answer.status_code == 200
                assert answer.json()["done"] == []
                refused = eve("POST", f"/jobs/{verb}", json={"jobs": ["x"] * 101})
                assert (refused.status_code, "at most 100 names" in refused.text) == (422, True)
        scene.bob_works()
