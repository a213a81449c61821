"""Whose end is the job's: the table of rules, and jobs that are ended when theirs is met."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.steps import want
from tests.support.world import World, make_node, make_world

from danlu.engines.base import Observation
from danlu.scheduler.verdict import Seen, end_of, first_failure, is_met
from danlu.spec.reasons import reason
from danlu.spec.roles import Rule
from danlu.spec.states import AttemptState, JobState, TaskState, task_ended

ROLES = {"ps": {"command": "p"}, "worker": {"command": "w", "count": 2}}
"""Ranks 0 and 1 are the workers, 2 is the parameter server."""

LETTERS = {
    "s": (TaskState.SUCCEEDED, 0, 9.0),
    "f": (TaskState.FAILED, 3, 8.0),
    "l": (TaskState.LOST, None, None),
    "t": (TaskState.STOPPED, 143, 9.0),
    "u": (TaskState.UPLOADING, None, 9.0),
    "r": (TaskState.RUNNING, None, None),
}
ALL, ANY = Rule("all", frozenset({0, 1, 2})), Rule("any", frozenset({0, 1, 2}), needs_all=False)
WORKERS, FIRST = Rule("worker", frozenset({0, 1})), Rule("worker-0", frozenset({0}))


def seen(letters: str) -> list[Seen]:
    """One task for each letter, in rank order."""
    return [
        Seen(rank, Observation(state=state, exit_code=code, ended_at=ended_at))
        for rank, (state, code, ended_at) in enumerate(LETTERS[letter] for letter in letters)
    ]


@pytest.mark.parametrize(
    ("rule", "letters", "met", "failed"),
    [
        # all
        (ALL, "sss", True, None),
        (ALL, "ssr", False, None),
        (ALL, "srf", False, 2),
        (ALL, "ssl", False, 2),
        # any: failures do not matter while somebody may still end well
        (ANY, "rrr", False, None),
        (ANY, "ffr", False, None),
        (ANY, "ffs", True, None),
        (ANY, "fff", False, 0),
        (ANY, "fft", False, 0),
        # workers, and a parameter server that never ends by itself
        (WORKERS, "ssr", True, None),
        (WORKERS, "srr", False, None),
        (WORKERS, "rrf", False, 2),
        (WORKERS, "rrl", False, 2),
        (WORKERS, "frr", False, 0),
        (WORKERS, "suf", False, None),
        (WORKERS, "ssf", True, None),
        (WORKERS, "sff", False, 1),
        (WORKERS, "rrs", False, None),
        # one worker
        (FIRST, "srr", True, None),
        (FIRST, "rsr", False, None),
        (FIRST, "rfr", False, 1),
        (FIRST, "sfr", True, None),
        (FIRST, "ufr", False, None),
    ],
)
def test_the_table_of_rules(rule: Rule, letters: str, met: bool, failed: int | None) -> None:
    tasks = seen(letters)
    failure = first_failure(tasks, rule)
    assert (is_met(tasks, rule), failure.rank if failure else None) == (met, failed)


def test_a_parameter_server_that_fell_first_is_named_when_its_workers_fell_with_it() -> None:
    first = Observation(state=TaskState.FAILED, exit_code=1, ended_at=5.0)
    tasks = [*seen("ff"), Seen(2, first, "ps")]
    failure = first_failure(tasks, WORKERS)
    assert failure is not None
    assert failure.why == reason("exit_code", "rank 2 (ps) ended with code 1")


@given(st.text("sflt", min_size=3, max_size=3), st.sampled_from([ALL, ANY, WORKERS, FIRST]))
def test_an_end_is_a_success_just_when_the_rule_is_met(letters: str, rule: Rule) -> None:
    tasks = seen(letters)
    state, why = end_of(tasks, None, rule)
    assert (state is AttemptState.SUCCEEDED) == is_met(tasks, rule)
    assert (why.code == "done") == is_met(tasks, rule)


@given(st.text("sfltur", min_size=3, max_size=3), st.sampled_from([ALL, ANY, WORKERS, FIRST]), st.data())
def test_a_rule_that_is_met_stays_met_and_has_no_failure(letters: str, rule: Rule, data: st.DataObject) -> None:
    later = "".join(data.draw(st.sampled_from("sflt")) if letter in "ur" else letter for letter in letters)
    if is_met(seen(letters), rule):
        assert is_met(seen(later), rule)
        assert first_failure(seen(letters), rule) is None
    if all(task_ended(task.now.state) for task in seen(letters)) and first_failure(seen(letters), rule) is not None:
        assert not is_met(seen(letters), rule)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_world(tmp_path, make_node()) as made:
        yield made


def started(world: World, **spec: Any) -> str:
    return world.started(**{"command": None, "launch": "ps_worker", "roles": ROLES, **spec})


def roles_and_states(world: World, job_id: str) -> list[tuple[str, str]]:
    return [(task.role, str(task.state)) for task in world.job(job_id).attempts[-1].tasks]


def test_parameter_servers_are_ended_when_the_workers_are_done_and_the_job_succeeds(world: World) -> None:
    job_id = started(world, grace="7s")
    world.engine.end(job_id, 0, code=0)
    world.tick(2)
    assert world.job(job_id).state is JobState.RUNNING
    assert not world.engine.stops
    world.engine.end(job_id, 1, code=0)
    world.tick()
    job = world.job(job_id)
    assert (job.state, job.reason.code) == (JobState.STOPPING, "finishing")
    world.tick(2)
    assert {grace for _, grace in world.engine.stops} == {7.0}
    job = world.job(job_id)
    assert (job.state, job.reason.code) == (JobState.SUCCEEDED, "done")
    assert job.reason.message == "worker succeeded, which completes this job; the other tasks were stopped"
    assert roles_and_states(world, job_id) == [("worker", "succeeded"), ("worker", "succeeded"), ("ps", "stopped")]
    assert job.attempts[-1].first_failed_rank is None


def test_a_parameter_server_that_falls_over_when_the_workers_leave_is_no_failure(world: World) -> None:
    job_id = started(world)
    world.engine.finish(job_id)
    world.engine.end(job_id, 2, code=1)
    world.tick()
    assert world.job(job_id).state is JobState.SUCCEEDED


def test_a_parameter_server_that_fails_while_workers_work_fails_the_job_and_is_named(world: World) -> None:
    job_id = started(world)
    world.engine.end(job_id, 2, code=9)
    world.tick(3)
    job = world.job(job_id)
    assert (job.state, job.reason.message) == (JobState.FAILED, "rank 2 (ps) ended with code 9")


def test_any_succeeds_with_the_first_and_outlives_failures(world: World) -> None:
    job_id = world.started(nodes=3, success="any")
    world.engine.end(job_id, 0, code=1)
    world.tick(2)
    assert world.job(job_id).state is JobState.RUNNING
    world.engine.end(job_id, 2, code=0)
    world.tick(3)
    job = world.job(job_id)
    assert job.state is JobState.SUCCEEDED
    assert roles_and_states(world, job_id) == [("worker", "failed"), ("worker", "stopped"), ("worker", "succeeded")]


def test_chief_of_a_job_without_one_is_rank_0(world: World) -> None:
    job_id = world.started(nodes=2, launch="ddp", success="chief")
    world.engine.end(job_id, 0, code=0)
    world.tick(3)
    assert world.job(job_id).state is JobState.SUCCEEDED


def test_a_job_that_is_stopped_while_it_finishes_has_succeeded(world: World) -> None:
    world.engine.ends_when_stopped = False
    job_id = started(world)
    world.engine.end(job_id, 0, code=0)
    world.engine.end(job_id, 1, code=0)
    world.tick(2)
    want(world, job_id, "stop")
    world.tick()
    world.engine.end(job_id, 2, code=1)
    world.tick(2)
    assert world.job(job_id).state is JobState.SUCCEEDED


def test_another_server_goes_on_where_one_that_was_killed_left_a_finishing_job(world: World) -> None:
    world.engine.ends_when_stopped = False
    job_id = started(world)
    world.engine.end(job_id, 0, code=0)
    world.engine.end(job_id, 1, code=0)
    world.tick(2)
    world.clock.pass_seconds(60)
    other = world.new_scheduler("server-2")
    world.engine.ends_when_stopped = True
    world.tick(4, other)
    assert world.job(job_id).state is JobState.SUCCEEDED
