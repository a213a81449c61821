"""What is written into the control groups of a task. Folders stand in for them; the engine tests have the kernel."""

from __future__ import annotations

from pathlib import Path

from danlu.node.supervise import cgroup


def make_group(folder: Path, *knobs: str) -> dict[str, str]:
    group = folder / "danlu-task"
    group.mkdir()
    for knob in knobs:
        (group / knob).write_text("max")
    return {"memory": f"{folder}/danlu-", "cpu": f"{folder}/danlu-"}


def test_version_2_limits_memory_and_leaves_no_swap(tmp_path: Path) -> None:
    roots = make_group(tmp_path, "memory.max", "memory.swap.max", "cpu.weight")
    limits, problems = cgroup.limit(roots, "task", memory_bytes=1 << 30, cpus=2)
    group = tmp_path / "danlu-task"
    assert (limits, problems) == (cgroup.Limits(str(group), str(group)), [])
    written = {knob.name: knob.read_text() for knob in group.iterdir()}
    assert written == {"memory.max": str(1 << 30), "memory.swap.max": "0", "cpu.weight": "200"}


def test_a_kernel_that_does_not_count_swap_is_no_problem(tmp_path: Path) -> None:
    roots = make_group(tmp_path, "memory.max")
    assert cgroup.limit(roots, "task", memory_bytes=1 << 30, cpus=None)[1] == []
    assert not (tmp_path / "danlu-task/memory.swap.max").exists()


def test_a_limit_that_cannot_be_set_is_told_and_the_other_is_kept(tmp_path: Path) -> None:
    roots = make_group(tmp_path, "cpu.weight")
    (tmp_path / "danlu-task/memory.max").mkdir()
    limits, problems = cgroup.limit(roots, "task", memory_bytes=1 << 30, cpus=2)
    assert limits == cgroup.Limits("", str(tmp_path / "danlu-task"))
    assert len(problems) == 1
    assert problems[0].startswith("the memory of this task is not limited to 1024 MiB: ")


def test_nothing_asked_for_is_nothing_made(tmp_path: Path) -> None:
    assert cgroup.limit({"memory": f"{tmp_path}/danlu-"}, "task", memory_bytes=None, cpus=2) == (None, [])
    assert list(tmp_path.iterdir()) == []
