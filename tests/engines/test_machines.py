"""Machines that tests make end with the test, whatever ends the test."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from danlu.testing.machines import Machines, can_make_machines
from danlu.testing.waiting import wait_until

pytestmark = pytest.mark.skipif(not can_make_machines(), reason="making machines needs root and iproute2")


def test_a_signal_to_all_of_a_test_leaves_nothing_behind(tmp_path: Path) -> None:
    """`timeout` and Ctrl-C tell everybody at once, also whoever is to clean up."""
    with Machines(("one",), tmp_path / "log") as machines:
        running = machines.start("one", ["sleep", "3600"])
        os.kill(machines.keeper_pid, signal.SIGTERM)
        assert running in machines.below()
    wait_until(lambda: not Path(f"/proc/{running}").exists())


def test_what_is_urgent_is_so_until_all_is_calm(tmp_path: Path) -> None:
    with Machines(("one",), tmp_path / "log") as machines:
        urgent = machines.start("one", ["sh", "-c", "sleep 3600 & wait"], is_urgent=True)
        wait_until(lambda: sum("sleep" in line for line in machines.processes("one").values()) == 2)
        if os.sched_getscheduler(urgent) != os.SCHED_RR:
            pytest.skip("this machine does not let processes go before others")
        machines.calm("one")
        assert {os.sched_getscheduler(pid) for pid in machines.processes("one")} == {os.SCHED_OTHER}
