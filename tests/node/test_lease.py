"""The lease of a node's tasks."""

from __future__ import annotations

from pathlib import Path

from danlu.node.supervise import lease
from danlu.node.task import TaskLease


def test_a_task_without_a_lease_is_never_overdue() -> None:
    assert lease.Lease(None).overdue() == 0.0


def test_a_lease_that_is_renewed_goes_on(tmp_path: Path) -> None:
    file = str(tmp_path / "lease")
    held = lease.Lease(TaskLease(file, 100.0))
    lease.renew(file, lease.now() + 1000.0)
    assert held.overdue() == 0.0


def test_a_lease_that_nobody_renews_runs_out(tmp_path: Path) -> None:
    assert lease.Lease(TaskLease(str(tmp_path / "none"), -1.0)).overdue() > 0.0


def test_a_lease_of_another_boot_or_one_that_is_torn_counts_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "lease"
    held = lease.Lease(TaskLease(str(file), -1.0))
    file.write_text(f"another-boot {lease.now() + 1000.0}\n")
    assert held.overdue() > 0.0
    file.write_text("torn")
    assert held.overdue() > 0.0
    lease.renew(str(file), lease.now() + 1000.0)
    assert held.overdue() == 0.0
