"""What is written into the control groups of a task. Folders stand in for them; the engine tests have the kernel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from danlu.node.supervise.cgroup import Groups, make_groups, remove_leftovers
from danlu.node.task import TaskLimits


def make_group(folder: Path, *knobs: str) -> dict[str, str]:
    group = folder / "danlu-task"
    group.mkdir()
    for knob in knobs:
        (group / knob).write_text("max")
    return {"memory": f"{folder}/danlu-", "cpu": f"{folder}/danlu-"}


def test_version_2_limits_memory_and_leaves_no_swap(tmp_path: Path) -> None:
    roots = make_group(tmp_path, "memory.max", "memory.swap.max", "cpu.weight")
    limits, problems = make_groups(roots, "task", TaskLimits(1 << 30, 2.0))
    group = tmp_path / "danlu-task"
    assert (limits, problems) == (Groups(str(group), str(group)), [])
    written = {knob.name: knob.read_text() for knob in group.iterdir()}
    assert written == {"memory.max": str(1 << 30), "memory.swap.max": "0", "cpu.weight": "200"}


def test_a_kernel_that_does_not_count_swap_is_no_problem(tmp_path: Path) -> None:
    roots = make_group(tmp_path, "memory.max")
    assert make_groups(roots, "task", TaskLimits(1 << 30))[1] == []
    assert not (tmp_path / "danlu-task/memory.swap.max").exists()


def test_a_limit_that_cannot_be_set_is_told_and_the_other_is_kept(tmp_path: Path) -> None:
    roots = make_group(tmp_path, "cpu.weight")
    (tmp_path / "danlu-task/memory.max").mkdir()
    limits, problems = make_groups(roots, "task", TaskLimits(1 << 30, 2.0))
    assert limits == Groups("", str(tmp_path / "danlu-task"))
    assert len(problems) == 1
    assert problems[0].startswith("the memory of this task is not limited to 1024 MiB: ")


def test_nothing_asked_for_is_nothing_made(tmp_path: Path) -> None:
    assert make_groups({"memory": f"{tmp_path}/danlu-"}, "task", TaskLimits(cpus=2.0)) == (Groups(), [])
    assert list(tmp_path.iterdir()) == []


def test_processes_are_limited_and_refused_forks_counted(tmp_path: Path) -> None:
    roots = {**make_group(tmp_path, "pids.max"), "pids": f"{tmp_path}/danlu-"}
    groups, problems = make_groups(roots, "task", TaskLimits(max_processes=100))
    group = tmp_path / "danlu-task"
    assert (groups, problems) == (Groups(pids=str(group)), [])
    assert (group / "pids.max").read_text() == "100"
    assert groups.num_refused_forks() == 0
    (group / "pids.events").write_text("max 7\n")
    assert groups.num_refused_forks() == 7


def test_leftovers_are_removed_also_while_tasks_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task removes its own group. That may be between the look at the folder and the look at its age."""
    for name in ("danlu-a-ending", "danlu-a-left", "other"):
        (tmp_path / name).mkdir()
    real = os.path.isdir

    def is_folder(path: str) -> bool:
        found = real(path)
        if path.endswith("-ending"):
            os.rmdir(path)
        return found

    monkeypatch.setattr(os.path, "isdir", is_folder)
    monkeypatch.setattr("danlu.node.supervise.cgroup.YOUNG_SECONDS", -60)
    remove_leftovers({"pids": f"{tmp_path}/danlu-a-"})
    assert os.listdir(tmp_path) == ["other"]
