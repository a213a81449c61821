"""mpirun on machines that isolate less: as root in the sandbox, on the machine's own network, without a sandbox."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.spec.states import TaskState, task_ended
from danlu.testing.engines import Starter
from danlu.testing.waiting import wait_until

PROGRAM = Path(__file__).parents[2] / "examples" / "mpi" / "code" / "allreduce.py"
LINE = re.compile(r"MPI rank (\d) of 4 in task (\d) .*: the sum of all ranks is 6")

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: scripts/system-packages.sh tests")


@pytest.fixture(
    params=[{"own_uid": False}, {"own_network": False}, {"sandbox": False}],
    ids=["root in the sandbox", "network of the machine", "no sandbox"],
)
def starter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Starter]:
    options: dict[str, Any] = request.param
    made = Starter(LocalEngine(EngineSettings(work_dir=tmp_path / "work", **options)))
    yield made
    made.clean_up()


def test_four_ranks_in_two_tasks_add_up(starter: Starter) -> None:
    started = starter.start(
        'mpirun -np $GPU_NUM -H $NODE_IP_SLOT_LIST python3 -c "$PROGRAM"',
        launch="mpi",
        nodes=2,
        resources={"device": "cpu:2"},
        env={"PROGRAM": PROGRAM.read_text()},
    )
    wait_until(lambda: task_ended(started.observe()[0].state), lambda: started.log(0))
    assert started.observe()[0].state is TaskState.SUCCEEDED, started.log(0)
    seen = sorted(found.groups() for found in map(LINE.fullmatch, started.log(0).splitlines()) if found)
    assert seen == [("0", "0"), ("1", "0"), ("2", "1"), ("3", "1")], started.log(0)
    assert started.observe()[1].state is TaskState.RUNNING  # until somebody tells it that the launcher is done
    assert started.stop(20.0)[1].state is TaskState.STOPPED
