"""Histories of a cluster, each with its own order of events. `tests/long` has more, and longer ones."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.support.histories import History


@pytest.mark.parametrize("number", range(2))
def test_the_promises_hold_in_every_history(number: int) -> None:
    run_state_machine_as_test(
        seed(number)(type("History", (History,), {})),
        settings=settings(
            max_examples=40, stateful_step_count=5, database=None, suppress_health_check=list(HealthCheck)
        ),
    )
