"""How attempts end, seen through the loop."""

from __future__ import annotations

import pytest
from tests.support.steps import held_devices, lose_output, want
from tests.support.world import World

from danlu.scheduler.loop import Scheduler
from danlu.scheduler.retention import remove_leftovers
from danlu.spec.states import AttemptState, JobState, TaskState
from danlu.store.queries import jobs


class TestEnds:
    def test_lost_without_a_policy_ends_the_job(self, world: World) -> None:
        job_id = world.started(resources={"device": "npu:2"})
        world.engine.lose(job_id)
        world.tick()
        job = world.job(job_id)
        assert (job.state, job.reason.code, job.attempts[0].state) == (JobState.FAILED, "lost", AttemptState.LOST)
        assert held_devices(world) == 0

    def test_lost_with_a_policy_is_tried_again_after_its_pause(self, world: World) -> None:
        job_id = world.started(retry={"max": 1, "on": ["lost"], "backoff": "30s"})
        world.engine.lose(job_id)
        world.tick(2)
        job = world.job(job_id)
        assert (job.state, job.reason.code, job.attempt) == (JobState.QUEUED, "retry_wait", 1)
        world.clock.pass_seconds(29)
        world.tick()
        assert world.job(job_id).state is JobState.QUEUED
        world.clock.pass_seconds(2)
        world.tick()
        assert (world.job(job_id).state, world.job(job_id).attempt) == (JobState.STARTING, 2)
        world.engine.run(job_id, 2)
        world.tick()
        world.engine.lose(job_id, attempt=2)
        world.tick()
        assert (world.job(job_id).state, world.job(job_id).attempt) == (JobState.FAILED, 2)

    def test_whoever_resumes_a_job_does_not_wait_for_its_next_try(self, world: World) -> None:
        job_id = world.started(retry={"max": 1, "on": ["lost"], "backoff": "30s"})
        world.engine.lose(job_id)
        world.tick(2)
        want(world, job_id, "pause")
        world.tick()
        want(world, job_id, "resume")
        world.tick(2)
        assert (world.job(job_id).state, world.job(job_id).attempt) == (JobState.STARTING, 2)

    def test_the_event_of_a_retry_is_of_the_attempt_that_failed(self, world: World) -> None:
        job_id = world.started(retry={"max": 1, "on": ["lost"], "backoff": "30s"})
        want(world, job_id, "pause")
        world.tick(2)
        want(world, job_id, "resume")
        world.tick(2)
        world.engine.run(job_id, 2)
        world.tick()
        world.engine.lose(job_id, attempt=2)
        world.tick()
        with world.database.reading() as session:
            told = [(event.attempt, event.kind) for event in jobs.list_events(session, job_id, after=0, limit=100)]
        assert told[-2:] == [(2, "lost"), (2, "retry")]

    def test_a_reason_that_the_policy_does_not_name_is_not_tried_again(self, world: World) -> None:
        job_id = world.started(retry={"max": 5, "on": ["lost"]})
        world.engine.finish(job_id, code=1)
        world.tick()
        assert world.job(job_id).state is JobState.FAILED

    def test_a_job_that_runs_too_long_is_stopped_with_its_grace(self, world: World) -> None:
        job_id = world.submit(max_duration="1h", grace="7s")
        world.tick()
        world.engine.run(job_id, at=world.clock().timestamp())
        world.tick()
        world.clock.pass_seconds(3599)
        world.tick()
        assert world.job(job_id).state is JobState.RUNNING
        world.clock.pass_seconds(2)
        world.tick(3)
        job = world.job(job_id)
        assert (job.state, job.reason.code) == (JobState.FAILED, "max_duration")
        assert job.reason.message == "ran longer than its max_duration of 1h00m"
        assert world.engine.stops == [((job_id, 1, 0), 7.0)]

    def test_output_may_travel_for_longer_than_the_job_may_run(self, world: World) -> None:
        job_id = world.started(nodes=2, max_duration="1h")
        began = world.clock().timestamp()
        world.clock.pass_seconds(3500)
        for rank in (0, 1):
            task = world.engine.task(job_id, rank)
            task.state, task.ended_at = TaskState.UPLOADING, began + 3490
        world.tick()
        world.clock.pass_seconds(7200)
        world.tick(2)
        assert (world.job(job_id).state, world.engine.stops) == (JobState.RUNNING, [])
        world.engine.task(job_id, 1).state, world.engine.task(job_id, 1).ended_at = TaskState.RUNNING, None
        world.tick(3)
        assert world.job(job_id).reason.code == "max_duration"

    def test_a_task_that_gives_no_sign_of_life_is_given_up(self, world: World) -> None:
        job_id = world.submit()
        world.tick()
        world.clock.pass_seconds(121)
        world.tick(3)
        assert (world.job(job_id).state, world.job(job_id).reason.code) == (JobState.FAILED, "start_timeout")

    def test_a_failing_rank_stops_the_others_and_is_named(self, world: World) -> None:
        job_id = world.started(nodes=3, resources={"device": "npu:2"})
        world.engine.task(job_id, 1).log += b"".join(b"line %d\n" % number for number in range(50))
        world.engine.end(job_id, 1, code=9, at=1400.0)
        world.tick(2)
        world.engine.end(job_id, 2, code=1, at=1401.0)
        world.tick(2)
        job = world.job(job_id)
        assert (job.state, job.reason.code, job.reason.message) == (
            JobState.FAILED,
            "exit_code",
            "rank 1 ended with code 9",
        )
        assert job.attempts[0].first_failed_rank == 1
        assert job.attempts[0].last_lines == [f"line {number}" for number in range(30, 50)]
        assert {key for key, _ in world.engine.stops} == {(job_id, 1, rank) for rank in range(3)}
        assert held_devices(world) == 0

    def test_a_progress_bar_is_not_more_than_twenty_lines(self, world: World) -> None:
        job_id = world.started()
        world.engine.task(job_id).log += b"".join(b"\r%d %%" % number for number in range(1000)) + b"\nboom\n"
        world.engine.finish(job_id, code=1)
        world.tick()
        lines = world.job(job_id).attempts[0].last_lines
        assert len(lines) <= 20
        assert lines[-1] == "boom"

    def test_the_log_is_complete_before_the_end_is_shown(self, world: World) -> None:
        """Logs are copied beside the looks, which do not wait here: until all is stored, the job is not over."""
        job_id = world.started()
        world.engine.task(job_id).log += b"x" * (40 << 20)
        world.engine.finish(job_id)
        hasty = Scheduler(world.context("server-1"), queue_share=1.0, patience_seconds=0.0)
        looks = 0
        while world.job(job_id).state is not JobState.SUCCEEDED:
            assert world.job(job_id).attempts[0].tasks[0].state is TaskState.RUNNING
            world.tick(scheduler=hasty)
            looks += 1
        assert looks > 1
        assert world.job(job_id).attempts[0].tasks[0].log_bytes == 40 << 20

    @pytest.mark.parametrize("code", ["upload_failed", "exit_code", "out_of_memory"])
    def test_files_stay_until_the_job_goes_when_results_did_not_arrive(self, world: World, code: str) -> None:
        job_id = world.started(nodes=2)
        lose_output(world, job_id, code)
        world.engine.end(job_id, 1, code=0)
        world.tick()
        assert world.job(job_id).reason.code == code
        remove_leftovers(world.context("server-1"))
        assert world.engine.forgotten == []
        want(world, job_id, "delete")
        remove_leftovers(world.context("server-1"))
        assert world.engine.forgotten == [(job_id, 1)]

    def test_files_of_an_attempt_stay_while_another_is_made(self, world: World) -> None:
        job_id = world.started(retry={"max": 1, "on": ["upload_failed"], "backoff": 5})
        lose_output(world, job_id, "upload_failed")
        world.tick()
        assert world.job(job_id).reason.code == "retry_wait"
        world.clock.pass_seconds(6)
        world.tick()
        world.engine.run(job_id, 2)
        world.engine.finish(job_id, 2)
        world.tick(2)
        remove_leftovers(world.context("server-1"))
        assert world.job(job_id).state is JobState.SUCCEEDED
        assert world.engine.forgotten == [(job_id, 2)]

    def test_files_stay_when_a_stopped_job_could_not_save_them_and_an_event_says_so(self, world: World) -> None:
        job_id = world.started()
        world.engine.ends_when_stopped = False
        want(world, job_id, "stop")
        world.tick(2)
        task = world.engine.task(job_id)
        task.state, task.ended_at, task.is_output_complete = TaskState.STOPPED, 1500.0, False
        task.message = "the server refused; the files are kept in X"
        world.tick()
        assert (world.job(job_id).state, world.engine.forgotten) == (JobState.STOPPED, [])
        with world.database.reading() as session:
            told = [
                event.message
                for event in jobs.list_events(session, job_id, after=0, limit=99)
                if event.kind == "output_incomplete"
            ]
        assert told == ["rank 0: the server refused; the files are kept in X"]

    @pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.STOPPED])
    def test_a_task_that_was_stopped_from_outside_is_not_started_unasked(self, world: World, state: TaskState) -> None:
        job_id = world.started()
        task = world.engine.task(job_id)
        task.state, task.exit_code, task.ended_at = state, 143, 1500.0
        task.reason = "stopped_outside" if state is TaskState.FAILED else ""
        world.tick(3)
        job = world.job(job_id)
        assert (job.state, job.reason.code, job.attempt) == (JobState.FAILED, "stopped_outside", 1)

    def test_a_task_that_was_stopped_from_outside_is_retried_as_its_policy_says(self, world: World) -> None:
        job_id = world.started(retry={"max": 1, "backoff": 5})
        task = world.engine.task(job_id)
        task.state, task.reason, task.ended_at = TaskState.FAILED, "stopped_outside", 1500.0
        world.tick()
        assert world.job(job_id).reason.code == "retry_wait"
        assert "retry 1 of 1" in world.job(job_id).reason.message
