"""Runs of jobs, and runs whose process is gone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.journals import BEGAN, JournalMaker
from tests.support.runs import points, send
from tests.support.world import Api, World

from danlu.server.runs.reconcile import SILENT_AFTER, reconcile


class TestJobMetrics:
    def test_pushed_metrics_land_in_the_jobs_own_run(self, world: World, api: Api) -> None:
        job = world.started(name="mnist")
        for step in (33, 66):
            one = {"timestamp": BEGAN, "values": {"loss": 1 / step, "val/acc": 0.5}, "epoch": 3, "step": step}
            api.json("POST", f"/jobs/{job}/metrics", json={"metrics": [{**one, "total_steps": 1000}]})
        shown = api.json("GET", f"/jobs/{job}")
        assert shown["progress"] == 0.066
        run = api.json("GET", f"/runs/{shown['run']}")
        assert (run["name"], run["job"], run["is_own"], run["step"], run["total_steps"]) == (
            "mnist",
            job,
            True,
            66,
            1000,
        )
        found = points(api, run["id"], "train/loss")
        assert (found["step"], found["epoch"], found["time"]) == ([33, 66], [3.0, 3.0], [BEGAN, BEGAN])
        with world.serving() as url, Api(url, world.job_token(job)) as inside:
            inside.json("POST", f"/jobs/{job}/metrics", json={"metrics": [{"values": {"loss": 0.1}}]})
        assert points(api, run["id"], "train/loss")["step"] == [33, 66, 67]

    @pytest.mark.parametrize("values", [{}, {"loss": "x"}])
    def test_wrong_metrics_are_refused(self, world: World, api: Api, values: Any) -> None:
        job = world.started()
        answer = api("POST", f"/jobs/{job}/metrics", json={"metrics": [{"values": values}]})
        assert answer.status_code == 422
        assert api.json("GET", "/runs")["items"] == []


class TestReconcile:
    def state(self, world: World, api: Api, run: str) -> str:
        reconcile(world.database, world.clock())
        return str(api.json("GET", f"/runs/{run}")["state"])

    def test_a_silent_run_died_and_lives_again(self, world: World, api: Api) -> None:
        made = JournalMaker().log("train", {"loss": [1.0]}, [1])
        send(world, api, made)
        world.clock.pass_seconds(SILENT_AFTER.total_seconds() - 1)
        assert self.state(world, api, made.run) == "running"
        world.clock.pass_seconds(2)
        assert self.state(world, api, made.run) == "died"
        send(world, api, made.log("train", {"loss": [1.0]}, [2]))
        assert self.state(world, api, made.run) == "running"
        send(world, api, made.finish("failed"))
        assert self.state(world, api, made.run) == "failed"

    def test_a_run_ends_with_its_attempt(self, world: World, api: Api) -> None:
        job = world.started()
        made = JournalMaker().log("train", {"loss": [1.0]}, [1])
        with world.serving() as url, Api(url, world.job_token(job)) as inside:
            send(world, inside, made)
        api.json("POST", f"/jobs/{job}/metrics", json={"metrics": [{"values": {"loss": 0.1}}]})
        own = api.json("GET", f"/jobs/{job}")["run"]
        world.engine.end(job, code=1, at=world.clock().timestamp())
        world.tick(3)
        assert api.json("GET", f"/jobs/{job}")["state"] == "failed"
        assert self.state(world, api, own) == "failed"
        assert self.state(world, api, made.run) == "running"  # its last words may be on their way
        world.clock.pass_seconds(20)
        assert self.state(world, api, made.run) == "died"

    def test_the_companion_speaks_for_a_process_that_cannot(self, world: World, api: Api) -> None:
        made = JournalMaker()
        send(world, api, made)
        companion = JournalMaker(made.run, writer="companion").finish("died")
        assert send(world, api, companion)["state"] == "died"
        assert send(world, api, made.finish("finished"))["state"] == "finished"
        assert send(world, api, JournalMaker(made.run, branch=2))["state"] == "running"


def test_a_run_is_watched_until_it_is_over(world: World, api: Api) -> None:
    made = JournalMaker().log("train", {"loss": [1.0]}, [1]).finish()
    send(world, api, made)
    lines = api("GET", f"/runs/{made.run}/watch").text.splitlines()
    assert lines[1] == "event: run"
    assert json.loads(lines[2].removeprefix("data: "))["metrics"][0]["last"] == 1.0
