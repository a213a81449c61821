"""500 histories of a cluster, each with its own order of events. `tests/long` has more."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.support.histories import History


def test_the_promises_hold_in_every_history() -> None:
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=500,
            stateful_step_count=5,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
