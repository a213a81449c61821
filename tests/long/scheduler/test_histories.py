"""The campaign: ten thousand histories, longer ones than the everyday tests have."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.support.histories import History

NUM_HISTORIES = int(os.environ.get("DANLU_HISTORIES", "10000"))


@pytest.mark.long
def test_the_promises_hold_in_ten_thousand_histories() -> None:
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=NUM_HISTORIES,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
