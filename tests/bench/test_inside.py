"""What runs inside of jobs, as far as it can be known outside."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from danlu.bench.inside.measured import first_reached, median, rate, rates, time_steps
from danlu.bench.inside.place import NORMAL, SINGLE_SERVER, places_of_node
from danlu.bench.inside.power import Meter

NODE = {"DANLU_RANK": "1", "DANLU_NODES": "2", "DANLU_DEVICES_PER_NODE": "3"}


def test_ranks_of_a_node_in_both_modes() -> None:
    normal, single = places_of_node(NODE, NORMAL), places_of_node(NODE, SINGLE_SERVER)
    assert [one.rank for one in normal] == [one.rank for one in single] == [3, 4, 5]
    assert [(one.group_rank, one.group_size) for one in normal] == [(3, 6), (4, 6), (5, 6)]
    assert [(one.group_rank, one.group_size) for one in single] == [(0, 3), (1, 3), (2, 3)]


def test_single_servers_keep_to_themselves_where_other_ports_are_taken(tmp_path: Path) -> None:
    """As on the network of the machine, where the next ports belong to other attempts."""
    options = {
        "suite": {"name": "allreduce"},
        "mode": SINGLE_SERVER,
        "parameters": {"sizes": [1024], "steps": 1, "warmup": 0, "timeout_seconds": 60},
    }
    (tmp_path / "options.json").write_text(json.dumps(options))
    with ExitStack() as stack:
        port, taken = next_to_each_other(stack)
        env = {
            **{"DANLU_JOB_ID": "train-1", "DANLU_ATTEMPT": "1", "DANLU_NODE": "here", "MASTER_PORT": str(port)},
            **{"DANLU_RANK": "0", "DANLU_NODES": "2", "DANLU_DEVICES_PER_NODE": "2"},
            **{"DANLU_HYPERPARAMETERS": str(tmp_path / "options.json"), "DANLU_OUTPUT_DIR": str(tmp_path)},
        }
        taken.listen()
        command = [sys.executable, "-m", "danlu.bench.inside", "allreduce"]
        done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(path.name for path in (tmp_path / "bench").iterdir()) == ["rank-0.json", "rank-1.json"]


def next_to_each_other(stack: ExitStack) -> tuple[int, socket.socket]:
    """A port, and a socket on the port after it."""
    while True:
        first, second = (stack.enter_context(socket.socket()) for _ in range(2))
        first.bind(("", 0))
        port = first.getsockname()[1]
        with suppress(OSError, OverflowError):
            second.bind(("", port + 1))
            return port, second


def test_the_warm_up_is_not_timed() -> None:
    calls: list[int] = []
    assert len(time_steps(lambda: calls.append(1), steps=3, warmup=2)) == 3
    assert len(calls) == 5


def test_rates() -> None:
    assert rate([1.0, 3.0], 10) == 5.0
    assert rates([1.0, 2.0], 10) == [10.0, 5.0]
    assert (median([3, 1, 2]), median([4, 1, 2, 3])) == (2, 2.5)
    assert first_reached([(1.0, 0.2), (2.0, 0.9), (3.0, 0.8)], 0.9) == 2.0
    assert first_reached([(1.0, 0.2)], 0.9) is None


def write_counter(folder: Path, joules: float) -> str:
    (folder / "intel-rapl:0").mkdir(exist_ok=True)
    (folder / "intel-rapl:0" / "energy_uj").write_text(str(int(joules * 1e6)))
    return f"{folder}/*-rapl:*/energy_uj"


class TestPower:
    def test_joules_by_seconds(self, tmp_path: Path) -> None:
        with Meter(is_read=True, counters=write_counter(tmp_path, 10)) as meter:
            write_counter(tmp_path, 30)
        watts = meter.average_watts()
        assert watts is not None
        assert watts > 0

    @pytest.mark.parametrize(("is_read", "after"), [(False, 30.0), (True, 3.0)], ids=["another rank's", "began anew"])
    def test_what_is_not_known_is_not_told(self, tmp_path: Path, is_read: bool, after: float) -> None:
        with Meter(is_read=is_read, counters=write_counter(tmp_path, 10)) as meter:
            write_counter(tmp_path, after)
        assert meter.average_watts() is None

    def test_no_counters(self, tmp_path: Path) -> None:
        with Meter(is_read=True, counters=f"{tmp_path}/*") as meter:
            pass
        assert meter.average_watts() is None
