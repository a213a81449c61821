"""The tables of states are closed: each names every state, and only states."""

from __future__ import annotations

from danlu.spec.states import (
    ATTEMPT_NEXT,
    JOB_NEXT,
    TASK_ENDS,
    AttemptState,
    JobState,
    TaskState,
    is_final,
    is_live,
    is_over,
    task_ended,
)


def test_every_job_state_has_a_row_and_is_reached() -> None:
    assert set(JOB_NEXT) == set(JobState)
    assert set().union(*JOB_NEXT.values()) == set(JobState)


def test_no_state_follows_itself() -> None:
    assert [state for state, following in JOB_NEXT.items() if state in following] == []
    assert [state for state, following in ATTEMPT_NEXT.items() if state in following] == []


def test_an_attempt_ends_once_and_from_everywhere() -> None:
    ends = {state for state in AttemptState if is_final(state)}
    assert ends == {AttemptState.SUCCEEDED, AttemptState.FAILED, AttemptState.STOPPED, AttemptState.LOST}
    for state, following in ATTEMPT_NEXT.items():
        assert following & ends, f"{state} has no end"


def test_an_ended_job_can_only_be_queued_again() -> None:
    assert {state: JOB_NEXT[state] for state in JobState if is_over(state)} == {
        JobState.SUCCEEDED: {JobState.QUEUED},
        JobState.FAILED: {JobState.QUEUED},
        JobState.STOPPED: {JobState.QUEUED},
    }


def test_a_job_is_waiting_live_or_over() -> None:
    waiting = {JobState.QUEUED, JobState.PAUSED}
    for state in JobState:
        assert [state in waiting, is_live(state), is_over(state)].count(True) == 1


def test_task_ends() -> None:
    assert {state for state in TaskState if task_ended(state)} == TASK_ENDS
    assert {state.value for state in TASK_ENDS} == {state.value for state in AttemptState if is_final(state)}


def test_a_state_prints_as_its_word() -> None:
    assert f"{JobState.QUEUED} {TaskState.LOST}" == "queued lost"
