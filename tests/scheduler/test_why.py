"""Why a job waits: everything that a person can act on."""

from __future__ import annotations

from tests.support.world import Api, World

from danlu.store.queries import quotas


def test_a_job_that_waits_for_room_hears_what_is_missing_and_when_there_is_room(world: World, api: Api) -> None:
    world.started(resources={"device": "npu:6"}, max_duration="1h", grace="0s")
    ahead = world.submit(resources={"device": "npu:8"}, priority=90)
    job = world.submit(resources={"device": "npu:4"})
    world.tick()
    found = api.json("GET", f"/jobs/{job}/why")
    assert found["reason"]["code"] == "no_capacity"
    assert found["resources"] == [{"resource": "npu", "asked": 4.0, "free": 2.0, "total": 8.0}]
    assert (found["num_tasks"], found["num_places"]) == (1, 0)
    assert (found["num_ahead"], found["ahead"]) == (1, [ahead])
    assert found["limit"] is None
    assert found["estimate"]["starts_at"].startswith("2026-01-01T13:00")
    assert "smaller request" in " ".join(found["would_help"])
    assert "free now: 2 npu" in found["sentence"]


def test_a_job_over_quota_hears_which_and_what_would_help(world: World, api: Api) -> None:
    world.database.write(quotas.set_quota, 1, quotas.WHOLE_PROJECT, {"npu": 4.0})
    world.started(resources={"device": "npu:3"})
    job = world.submit(resources={"device": "npu:2"})
    world.tick()
    found = api.json("GET", f"/jobs/{job}/why")
    assert found["reason"]["code"] == "quota_project"
    assert found["limit"] == {"scope": "project", "resource": "npu", "quota": 4.0, "used": 3.0, "asked": 2.0}
    assert found["would_help"][:3] == [
        "the project holding 1 npu less",
        "a quota of 5 npu",
        "`preemptible: true`: preemptible jobs may use idle resources beyond the quota",
    ]
    assert found["estimate"] is None


def test_a_job_that_runs_says_so(world: World, api: Api) -> None:
    found = api.json("GET", f"/jobs/{world.started()}/why")
    assert (found["state"], found["resources"], found["limit"]) == ("running", [], None)


def test_a_sentence_that_says_nothing_new_is_not_written(world: World) -> None:
    """Thousands of jobs wait; each new sentence would be a write."""
    running = [world.started(resources={"device": "npu:2"}) for _ in range(4)]
    waiting = world.submit(resources={"device": "npu:8"})
    world.tick()
    before = world.job(waiting)
    world.engine.finish(running[0])
    world.tick(2)
    assert world.job(waiting).reason == before.reason
