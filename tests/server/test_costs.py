"""What jobs cost so far, by project and user."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.support.world import Api, World

HOURLY = {"name": "hourly", "device": "npu:1", "price_per_hour": "36"}


def run_for(world: World, seconds: float, **fields: Any) -> str:
    """The id of a job that held its devices for so long."""
    job = world.submit(**{"flavor": "hourly", **fields})
    world.tick()
    world.engine.run(job, at=world.clock().timestamp())
    world.tick()
    world.clock.pass_seconds(seconds)
    world.engine.finish(job)
    world.tick(2)
    return job


def test_costs_are_added_up_and_cut_to_the_time_that_is_asked_for(world: World, api: Api) -> None:
    api.json("POST", "/flavors", json=HOURLY)
    run_for(world, 100)
    between = world.clock()
    world.clock.pass_seconds(1000)
    run_for(world, 300, nodes=2)
    run_for(world, 100, flavor=None, resources={"device": "npu:1"})
    (row,) = api.json("GET", "/costs")["items"]
    assert (row["num_jobs"], row["currency"]) == (2, "CNY")
    assert abs(float(row["cost"]) - 7.0) < 0.05  # 100 s of one node, 300 s of two, at 36 an hour
    assert abs(row["hours"] * 3600 - 400) < 5
    (late,) = api.json("GET", "/costs", params={"since": between.isoformat()})["items"]
    assert (late["num_jobs"], abs(float(late["cost"]) - 6.0) < 0.05) == (1, True)
    early = api.json("GET", "/costs", params={"until": between.isoformat()})["items"]
    assert [item["num_jobs"] for item in early] == [1]
    assert api.json("GET", "/costs", params={"until": (between - timedelta(days=1)).isoformat()})["items"] == []


def test_what_runs_counts_up_to_now(world: World, api: Api) -> None:
    api.json("POST", "/flavors", json=HOURLY)
    world.started(flavor="hourly")
    world.clock.pass_seconds(3600)
    (row,) = api.json("GET", "/costs")["items"]
    assert abs(float(row["cost"]) - 36.0) < 0.1


def test_moments_that_cannot_be_used(world: World, api: Api) -> None:
    later = (world.clock() + timedelta(days=1)).isoformat()
    assert list(api("GET", "/costs", params={"since": later}).json()["fields"]) == ["since"]
    assert api("GET", "/costs", params={"since": "yesterday"}).status_code == 422
