"""What wakes the loop, and how long it rests."""

from __future__ import annotations

import time

from tests.support.world import World

from danlu.scheduler.loop import MAX_REST_SECONDS, Scheduler
from danlu.spec.states import JobState
from danlu.testing.waiting import wait_until


def test_a_new_job_is_started_without_a_look_at_the_others(world: World) -> None:
    running = world.started()
    world.engine.finish(running)
    new = world.submit()
    world.scheduler.wake(only_queue=True)
    world.scheduler.tick(watch=False)
    assert world.job(new).state is JobState.STARTING
    assert world.job(running).state is JobState.RUNNING, "nobody has looked at it yet"
    world.scheduler.tick()
    assert world.job(running).state is JobState.SUCCEEDED


def test_what_was_just_started_is_looked_at_soon(world: World) -> None:
    world.submit()
    world.scheduler.wake(only_queue=True)
    assert world.scheduler.tick(watch=False) <= 0.1


def test_however_long_the_queue_it_is_served_again_within_a_second(world: World) -> None:
    slow = Scheduler(world.context("server-1"), queue_share=1e-9)
    late, pause = "", 0.0

    def comes_late() -> bool:
        """Submit a job right after the queue was served. On a busy machine the rest may be over before that."""
        nonlocal late, pause
        slow.wake()
        slow.tick()
        began = time.monotonic()
        late = world.submit()
        slow.wake(only_queue=True)
        pause = slow.tick()
        return time.monotonic() - began < MAX_REST_SECONDS / 2

    wait_until(comes_late)
    assert world.job(late).state is JobState.QUEUED, "the loop rests"
    assert 0 < pause <= MAX_REST_SECONDS

    def is_served() -> bool:
        slow.tick()
        return world.job(late).state is JobState.STARTING

    wait_until(is_served)


def test_many_starts_are_spread_over_looks_so_that_a_stop_is_not_behind_all_of_them(world: World) -> None:
    hasty = Scheduler(world.context("server-1"), queue_share=1.0, burst_seconds=0.0)
    many = [world.submit() for _ in range(3)]
    for num_started in (1, 2, 3):
        hasty.wake(only_queue=num_started > 1)
        hasty.tick()
        assert [world.job(job_id).state for job_id in many].count(JobState.QUEUED) == 3 - num_started
    assert all(world.job(job_id).state is JobState.STARTING for job_id in many)
