"""The loop against a real database; only the engine is driven by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.steps import held_devices, row, want
from tests.support.world import World, make_node, make_world

from danlu.errors import EngineUnavailable, Unsupported
from danlu.spec.reasons import CATALOGUE
from danlu.spec.states import AttemptState, Desired, JobState, TaskState
from danlu.store.queries import jobs


class TestALife:
    def test_from_queue_to_success(self, world: World) -> None:
        job_id = world.submit(nodes=2, resources={"device": "npu:2"})
        assert world.job(job_id).reason.code == "submitted"
        world.tick()
        assert (world.job(job_id).state, held_devices(world)) == (JobState.STARTING, 4)
        world.engine.run(job_id)
        world.tick()
        assert world.job(job_id).state is JobState.RUNNING
        world.engine.finish(job_id)
        world.tick()
        job = world.job(job_id)
        assert (job.state, job.reason.code, held_devices(world)) == (JobState.SUCCEEDED, "done", 0)
        assert job.attempts[0].state is AttemptState.SUCCEEDED
        assert [task.exit_code for task in job.attempts[0].tasks] == [0, 0]
        assert world.engine.forgotten == [(job_id, 1)]

    def test_a_job_that_waits_says_why_and_starts_when_there_is_room(self, world: World) -> None:
        first = world.started(resources={"device": "npu:8"})
        second = world.submit(resources={"device": "npu:1"})
        world.tick()
        assert world.job(second).reason.code == "no_capacity"
        world.engine.finish(first)
        world.tick()
        assert world.job(second).state is JobState.STARTING

    def test_priority_goes_first(self, world: World) -> None:
        world.started(resources={"device": "npu:8"})
        low = world.submit(resources={"device": "npu:8"}, priority=10)
        high = world.submit(resources={"device": "npu:8"}, priority=90)
        world.engine.finish(world.engine.plans[0].job_id)
        world.tick()
        assert (world.job(low).state, world.job(high).state) == (JobState.QUEUED, JobState.STARTING)

    def test_secrets_and_token_reach_the_engine_beside_the_plan(self, world: World) -> None:
        job_id = world.submit(secrets={"HF_TOKEN": "hunter2"})
        world.tick()
        credentials = world.engine.credentials[0]
        assert credentials.secrets == {"HF_TOKEN": "hunter2"}
        assert credentials.token == world.job_token(job_id)
        assert "hunter2" not in world.engine.plans[0].model_dump_json() + repr(credentials)
        assert "hunter2" not in world.job(job_id).model_dump_json()


class TestCrash:
    def test_a_start_that_was_not_confirmed_is_repeated(self, world: World) -> None:
        """The server died between the engine's start and its own note of it."""
        job_id = world.started()
        with world.database.writing() as session:
            row(session, job_id).is_started = False
        world.scheduler = world.new_scheduler("server-1")
        world.tick(2)
        assert [plan.attempt for plan in world.engine.plans] == [1, 1]
        assert world.engine.credentials[0].token == world.engine.credentials[1].token
        job = world.job(job_id)
        assert (job.state, job.attempt) == (JobState.RUNNING, 1)

    def test_a_bug_in_a_repeated_start_does_not_affect_others(self, world: World) -> None:
        first = world.started()
        with world.database.writing() as session:
            row(session, first).is_started = False
        world.scheduler = world.new_scheduler("server-1")
        world.engine.start_problems = [ZeroDivisionError()]
        second = world.submit()
        world.tick(2)
        assert [world.job(one).state for one in (first, second)] == [JobState.RUNNING, JobState.STARTING]

    def test_a_job_that_ended_meanwhile_is_found_with_its_log(self, world: World) -> None:
        job_id = world.started()
        world.engine.task(job_id).log += b"line\n" * 1000
        world.engine.finish(job_id, code=3)
        world.scheduler = world.new_scheduler("server-1")
        world.tick()
        job = world.job(job_id)
        assert (job.state, job.attempt, job.attempts[0].tasks[0].log_bytes) == (JobState.FAILED, 1, 5000)

    def test_an_engine_that_is_away_at_the_start_is_asked_again(self, world: World) -> None:
        world.engine.start_problems = [EngineUnavailable("the cluster is away")]
        job_id = world.submit()
        world.tick()
        assert world.job(job_id).state is JobState.STARTING
        assert world.job(job_id).reason.message == "the cluster is away"
        world.tick()
        world.engine.run(job_id)
        world.tick()
        assert world.job(job_id).state is JobState.RUNNING

    def test_an_engine_that_cannot_start_it_ends_the_job_with_its_words(self, world: World) -> None:
        world.engine.start_problems = [Unsupported("no image 'x' on this node; pull it first")]
        job_id = world.submit(resources={"device": "npu:2"})
        world.tick()
        job = world.job(job_id)
        assert (job.state, job.reason.code) == (JobState.FAILED, "start_failed")
        assert job.reason.message == "no image 'x' on this node; pull it first"
        assert held_devices(world) == 0


class TestUnreachable:
    def test_an_unreachable_node_is_not_a_dead_job(self, world: World) -> None:
        job_id = world.started(resources={"device": "npu:2"}, max_duration="1m")
        world.engine.unreachable = {"here"}
        for _ in range(5):
            world.clock.pass_seconds(3600)
            world.tick()
        job = world.job(job_id)
        assert (job.state, job.reason.code, held_devices(world)) == (JobState.RUNNING, "unreachable", 2)

    def test_the_nodes_that_do_not_answer_are_named(self, tmp_path: Path) -> None:
        nodes = [make_node(name, holds_many_tasks=False) for name in ("n0", "n1")]
        with make_world(tmp_path / "two", *nodes) as world:
            job_id, told = world.started(nodes=2), []
            for away in ({"n1"}, {"n1"}, {"n0", "n1"}, {"n0"}):
                world.engine.unreachable = away
                world.tick()
                told.append(world.job(job_id).reason.message.partition(";")[0])
            assert told == [f"no answer from {name}" for name in ("n1", "n1", "n0, n1", "n0")]

    def test_it_is_found_again(self, world: World) -> None:
        job_id = world.started()
        world.engine.unreachable = {"here"}
        world.tick()
        world.engine.unreachable = set()
        world.tick()
        assert world.job(job_id).reason.code == "running"
        world.engine.finish(job_id)
        world.tick()
        assert (world.job(job_id).state, world.job(job_id).attempt) == (JobState.SUCCEEDED, 1)

    def test_a_node_that_answers_again_before_the_command_began_is_not_unreachable_any_more(self, world: World) -> None:
        job_id = world.submit()
        world.tick()
        world.engine.unreachable = {"here"}
        world.tick()
        assert world.job(job_id).reason.code == "unreachable"
        world.engine.unreachable = set()
        world.tick()
        assert world.job(job_id).reason.code == "starting"

    def test_stop_is_passed_on_while_one_node_is_away(self, tmp_path: Path) -> None:
        nodes = [make_node(name, holds_many_tasks=False) for name in ("n0", "n1")]
        with make_world(tmp_path / "two", *nodes) as world:
            job_id = world.started(nodes=2)
            world.engine.unreachable = {"n1"}
            want(world, job_id, "stop")
            world.tick(2)
            assert world.job(job_id).state is JobState.STOPPING
            assert world.engine.task(job_id, 0).state is TaskState.STOPPED
            world.engine.unreachable = set()
            world.tick(2)
            assert world.job(job_id).state is JobState.STOPPED


class TestWishes:
    def test_stop_a_waiting_job(self, world: World) -> None:
        job_id = world.submit(resources={"device": "npu:64"})
        world.tick()
        want(world, job_id, "stop")
        world.tick()
        job = world.job(job_id)
        assert (job.state, job.reason.code, job.attempt) == (JobState.STOPPED, "stopped_by_user", 0)

    def test_stop_a_running_job(self, world: World) -> None:
        job_id = world.started(resources={"device": "npu:2"}, retry={"max": 5}, grace="3s")
        want(world, job_id, "stop")
        world.tick()
        assert world.job(job_id).state is JobState.STOPPING
        world.tick(2)
        job = world.job(job_id)
        assert (job.state, job.attempts[0].state, held_devices(world)) == (JobState.STOPPED, AttemptState.STOPPED, 0)
        assert world.engine.stops == [((job_id, 1, 0), 3.0)]

    def test_stop_while_starting(self, world: World) -> None:
        job_id = world.submit()
        world.tick()
        want(world, job_id, "stop")
        world.tick(3)
        assert world.job(job_id).state is JobState.STOPPED

    def test_stop_before_the_engine_has_confirmed_the_start(self, world: World) -> None:
        world.engine.start_problems = [EngineUnavailable("away")]
        job_id = world.submit()
        world.tick()
        want(world, job_id, "stop")
        world.tick(4)
        assert world.job(job_id).state is JobState.STOPPED

    def test_stop_twice_is_quiet(self, world: World) -> None:
        job_id = world.started()
        for _ in range(2):
            want(world, job_id, "stop")
            world.tick(3)
        assert world.job(job_id).state is JobState.STOPPED
        assert len(world.engine.stops) == 1

    def test_pause_and_resume_keep_the_id_and_the_output(self, world: World) -> None:
        job_id = world.started(resources={"device": "npu:2"})
        output = world.job(job_id).output
        want(world, job_id, "pause")
        world.tick(3)
        assert (world.job(job_id).state, world.job(job_id).reason.code) == (JobState.PAUSED, "paused")
        assert held_devices(world) == 0
        world.tick(2)
        assert world.job(job_id).state is JobState.PAUSED
        want(world, job_id, "resume")
        world.tick()
        job = world.job(job_id)
        assert (job.state, job.attempt, job.output) == (JobState.STARTING, 2, output)

    def test_resume_while_it_still_stops(self, world: World) -> None:
        job_id = world.started()
        world.engine.ends_when_stopped = False
        want(world, job_id, "pause")
        world.tick(2)
        want(world, job_id, "resume")
        world.tick()
        assert world.job(job_id).state is JobState.STOPPING
        task = world.engine.task(job_id)
        task.state, task.exit_code, task.ended_at = TaskState.STOPPED, 143, 1600.0
        world.tick()
        world.tick()
        assert (world.job(job_id).state, world.job(job_id).attempt) == (JobState.STARTING, 2)

    def test_a_job_that_ended_well_before_the_pause_arrived_cannot_be_resumed(self, world: World) -> None:
        job_id = world.started()
        want(world, job_id, "pause")
        world.engine.finish(job_id)
        world.tick()
        assert world.job(job_id).state is JobState.SUCCEEDED
        with pytest.raises(Exception, match="is succeeded and not paused"):
            want(world, job_id, "resume")

    def test_start_again_gives_a_new_attempt_and_new_retries(self, world: World) -> None:
        job_id = world.started()
        world.engine.finish(job_id, code=1)
        world.tick()
        want(world, job_id, "start")
        world.tick()
        job = world.job(job_id)
        assert (job.state, job.attempt, job.desired) == (JobState.STARTING, 2, Desired.RUN)
        assert [attempt.state for attempt in job.attempts] == [AttemptState.FAILED, AttemptState.STARTING]
        assert job.attempts[0].reason.code == "exit_code"

    def test_the_wish_to_stop_wins_over_a_retry(self, world: World) -> None:
        job_id = world.started(retry={"max": 5})
        want(world, job_id, "stop")
        world.engine.finish(job_id, code=1)
        world.tick(2)
        assert world.job(job_id).state is not JobState.QUEUED


class TestTwoSchedulers:
    def test_a_job_is_started_once(self, world: World) -> None:
        other = world.new_scheduler("server-2")
        ids = [world.submit(resources={"device": "npu:1"}) for _ in range(8)]
        world.tick(scheduler=other)
        world.tick()
        world.tick(scheduler=other)
        assert sorted(plan.job_id for plan in world.engine.plans) == sorted(ids)

    def test_a_live_job_has_one_that_looks_after_it(self, world: World) -> None:
        job_id = world.started()
        other = world.new_scheduler("server-2")
        world.engine.finish(job_id)
        world.tick(scheduler=other)
        assert world.job(job_id).state is JobState.RUNNING
        world.tick()
        assert world.job(job_id).state is JobState.SUCCEEDED

    def test_a_job_whose_server_is_gone_is_taken_over(self, world: World) -> None:
        job_id = world.started()
        world.engine.finish(job_id)
        world.clock.pass_seconds(31)
        world.tick(scheduler=world.new_scheduler("server-2"))
        assert world.job(job_id).state is JobState.SUCCEEDED

    def test_a_clock_that_was_set_back_does_not_leave_jobs_alone_for_long(self, world: World) -> None:
        job_id = world.started()
        world.clock.pass_seconds(-86400)
        world.engine.finish(job_id)
        world.tick(scheduler=world.new_scheduler("server-2"))
        assert world.job(job_id).state is JobState.SUCCEEDED

    def test_the_second_begin_of_an_attempt_finds_the_device_taken(self, world: World) -> None:
        with world.database.reading() as session:
            assert jobs.queue(session) == []
        first = world.submit(resources={"device": "npu:8"})
        second = world.submit(resources={"device": "npu:8"})
        world.tick(scheduler=world.new_scheduler("server-2"))
        world.tick()
        assert [world.job(job_id).state for job_id in (first, second)] == [JobState.STARTING, JobState.QUEUED]


def test_every_state_on_the_way_has_a_reason_of_the_catalogue(world: World) -> None:
    seen = set()
    job_id = world.submit(retry={"max": 1, "backoff": "1s"})
    steps: tuple[Callable[[], None], ...] = (
        lambda: world.engine.run(job_id),
        lambda: world.engine.finish(job_id, code=1),
        lambda: world.clock.pass_seconds(2),
        lambda: world.engine.run(job_id, 2),
        lambda: world.engine.finish(job_id, 2, code=1),
    )
    for step in steps:
        world.tick()
        seen.add(world.job(job_id).reason.code)
        step()
        world.tick()
        seen.add(world.job(job_id).reason.code)
    assert seen >= {"starting", "running", "retry_wait", "exit_code"}
    assert seen <= set(CATALOGUE)
