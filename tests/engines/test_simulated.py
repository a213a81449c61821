"""The simulated engine: the contract of engines, and time that passes faster."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engines.conftest import make_settings

from danlu.engines.base import Engine
from danlu.spec.states import TaskState
from danlu.testing.engine_contract import EngineContract
from danlu.testing.engines import Starter
from danlu.testing.simulated import SimulatedEngine

HOUR = 3600.0


def make_engine(folder: Path, *, speed: float = 1.0) -> SimulatedEngine:
    return SimulatedEngine(make_settings(folder, "sandbox"), num_nodes=2000, speed=speed)


class TestSimulatedEngine(EngineContract):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> Engine:
        self._folder = tmp_path
        return make_engine(tmp_path)

    def reopen(self, engine: Engine) -> Engine:
        return make_engine(self._folder)


def test_an_hour_passes_in_a_moment(tmp_path: Path) -> None:
    starter = Starter(make_engine(tmp_path, speed=100 * HOUR))
    (seen,) = starter.start(f"sleep {HOUR:.0f}").wait()
    assert (seen.state, seen.exit_code) == (TaskState.SUCCEEDED, 0)
    starter.clean_up()


def test_a_simulated_task_can_be_stopped(tmp_path: Path) -> None:
    starter = Starter(make_engine(tmp_path))
    job = starter.start(f"sleep {HOUR:.0f}", nodes=3)
    assert {seen.state for seen in job.observe()} == {TaskState.RUNNING}
    assert {(seen.state, seen.exit_code) for seen in job.stop()} == {(TaskState.STOPPED, 143)}
    starter.clean_up()
