"""How an attempt ended, from how its tasks did; and when it is tried again."""

from __future__ import annotations

from typing import Any

import pytest

from danlu.engines.base import Observation
from danlu.scheduler.verdict import Seen, end_of, explain, first_failure, progress, retry_after
from danlu.spec.job import parse_job
from danlu.spec.reasons import Reason, reason
from danlu.spec.states import AttemptState, TaskState


def seen(rank: int, state: str, code: int | None = None, ended_at: float | None = None, **more: Any) -> Seen:
    return Seen(rank, Observation(state=TaskState(state), exit_code=code, ended_at=ended_at, **more))


OK = seen(0, "succeeded", 0, 9.0)

ENDS: list[tuple[str, list[Seen], Reason | None, str, str, str]] = [
    ("all well", [OK, seen(1, "succeeded", 0)], None, "succeeded", "done", "Completed on all nodes."),
    ("a code", [OK, seen(1, "failed", 3, 5.0)], None, "failed", "exit_code", "rank 1 ended with code 3"),
    ("a signal", [seen(0, "failed", 139, 5.0)], None, "failed", "killed_by_signal", "rank 0 was killed by SIGSEGV"),
    (
        "a code that is no signal",
        [seen(0, "failed", 200, 5.0)],
        None,
        "failed",
        "exit_code",
        "rank 0 ended with code 200",
    ),
    (
        "the first of several",
        [seen(0, "failed", 1, 8.0), seen(1, "failed", 7, 5.0), seen(2, "failed", 1, 6.0)],
        None,
        "failed",
        "exit_code",
        "rank 1 ended with code 7",
    ),
    (
        "the engine knows better",
        [seen(0, "failed", 137, 5.0, reason="out_of_memory", message="used 4 GiB")],
        None,
        "failed",
        "out_of_memory",
        "rank 0: used 4 GiB",
    ),
    (
        "lost",
        [seen(0, "lost", ended_at=5.0)],
        None,
        "lost",
        "lost",
        "rank 0: The process that supervises a task disappeared without recording an end.",
    ),
    (
        "stopped",
        [seen(0, "stopped", 143)],
        reason("stopped_by_user"),
        "stopped",
        "stopped_by_user",
        "The job was stopped by a user.",
    ),
    (
        "stopped, yet failed",
        [seen(0, "failed", 1, 5.0)],
        reason("stopped_by_user"),
        "stopped",
        "stopped_by_user",
        "The job was stopped by a user.",
    ),
    ("paused", [seen(0, "stopped", 143)], reason("paused"), "stopped", "paused", "The job is paused."),
    (
        "too long",
        [seen(0, "stopped", 143)],
        reason("max_duration"),
        "failed",
        "max_duration",
        "The job ran longer than its max_duration.",
    ),
    (
        "stopped because one was lost",
        [seen(0, "lost", ended_at=5.0), seen(1, "stopped", 143)],
        reason("lost", "rank 0: gone"),
        "lost",
        "lost",
        "rank 0: gone",
    ),
    (
        "by somebody else",
        [seen(0, "stopped", 143)],
        None,
        "failed",
        "stopped_outside",
        "rank 0 was terminated from outside Danlu",
    ),
]


@pytest.mark.parametrize(("_case", "tasks", "cause", "state", "code", "told"), ENDS, ids=[row[0] for row in ENDS])
def test_ends(_case: str, tasks: list[Seen], cause: Reason | None, state: str, code: str, told: str) -> None:
    assert end_of(tasks, cause) == (AttemptState(state), Reason(code=code, message=told))


def test_a_failure_without_a_time_comes_last() -> None:
    failure = first_failure([seen(0, "failed", 1), seen(1, "failed", 2, 5.0)])
    assert failure is not None
    assert failure.rank == 1


def test_a_failure_without_a_code_says_so() -> None:
    assert explain(seen(2, "failed")).message == "rank 2 ended without an exit code"


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["running", "running"], AttemptState.RUNNING),
        (["running", "staging"], AttemptState.STARTING),
        (["starting", "running"], AttemptState.STARTING),
        (["succeeded", "running"], AttemptState.RUNNING),
        (["uploading", "running"], AttemptState.RUNNING),
    ],
)
def test_an_attempt_runs_once_every_command_has_begun(states: list[str], expected: AttemptState) -> None:
    assert progress([seen(rank, state) for rank, state in enumerate(states)]) is expected


def after(policy: dict[str, Any], code: str, *, exit_code: int | None = None, retries: int = 0) -> float | None:
    spec = parse_job({"name": "a", "command": "x", "retry": policy})
    return retry_after(spec, reason(code), exit_code=exit_code, num_retries=retries)


class TestRetry:
    def test_none_without_a_policy(self) -> None:
        assert after({}, "lost") is None

    def test_the_pause_doubles_up_to_an_hour(self) -> None:
        pauses = [after({"max": 20, "backoff": "5s"}, "lost", retries=count) for count in (0, 1, 2, 9, 10, 19)]
        assert pauses == [5.0, 10.0, 20.0, 2560.0, 3600.0, 3600.0]

    def test_no_more_often_than_asked(self) -> None:
        assert after({"max": 2}, "lost", retries=2) is None

    @pytest.mark.parametrize(
        ("code", "is_retried"),
        [
            ("lost", True),
            ("exit_code", True),
            ("out_of_memory", False),
            ("setup_failed", False),
            ("max_duration", False),
        ],
    )
    def test_the_catalogue_decides_when_no_reason_is_named(self, code: str, is_retried: bool) -> None:
        assert (after({"max": 1}, code) is not None) is is_retried

    def test_named_reasons_decide_alone(self) -> None:
        policy = {"max": 1, "on": ["out_of_memory", "exit:42"]}
        assert after(policy, "out_of_memory") == 5.0
        assert after(policy, "lost") is None
        assert after(policy, "exit_code", exit_code=42) == 5.0
        assert after(policy, "exit_code", exit_code=1) is None
