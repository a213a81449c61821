"""What jobs use, over HTTP: collected as they run, thinned to what is asked for, kept by attempt, gone with the job."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tests.support.steps import want
from tests.support.world import Api, World

from danlu.journal.usage import Cell, Header, pack, pack_header
from danlu.store.metrics.usage import UsageFiles, grid, lines

NAN = math.nan
T0 = 1_767_268_800.0


def cell(at: float, *, cpu: float = 1.0, memory: float = 100.0, seconds: float = 5.0) -> bytes:
    values = (cpu, memory, 10.0, 20.0, NAN, NAN, NAN, NAN)
    return pack(Cell(T0 + at, seconds, values, (cpu * 2, memory, 10.0, 20.0, NAN, NAN, NAN, NAN)))


HEAD = pack_header(Header(0, 5.0))


def line(task: dict[str, Any], quantity: str = "cpu") -> dict[str, Any]:
    found: dict[str, Any] = task["lines"][quantity]
    return found


def test_it_is_collected_while_the_job_runs_and_to_its_end(world: World, api: Api) -> None:
    job = world.started(nodes=2, resources={"cpus": 2, "memory": "4GiB"})
    first, second = world.engine.task(job, 0), world.engine.task(job, 1)
    first.use = HEAD + cell(5) + cell(10, cpu=3.0) + b"half a ce"
    world.tick(scheduler=world.new_scheduler("server-1"))
    found = api.json("GET", f"/jobs/{job}/usage")
    assert (found["attempt"], found["num_attempts"], found["is_live"], found["every_seconds"]) == (1, 1, True, 5.0)
    assert found["at"] == [T0 + 5, T0 + 10]
    assert [(task["rank"], task["cpus"], task["memory_bytes"]) for task in found["tasks"]] == [
        (0, 2.0, 4 << 30),
        (1, 2.0, 4 << 30),
    ]
    assert line(found["tasks"][0]) == {
        "mean": [1.0, 3.0],
        "peak": [2.0, 6.0],
        "average": 2.0,
        "highest": 6.0,
        "last": 3.0,
    }
    assert sorted(found["tasks"][0]["lines"]) == ["cpu", "memory", "read", "written"], "what is not known is left out"
    assert found["tasks"][1]["lines"] == {}
    node = api.json("GET", "/nodes")["items"][0]
    assert (node["cpus_used"], node["memory_used_bytes"]) == (3.0, 100)
    # the end of the half cell and more comes with the end of the task
    first.use = HEAD + cell(5) + cell(10, cpu=3.0) + cell(15, cpu=5.0)
    second.use = HEAD + cell(12, cpu=0.5)
    world.engine.finish(job)
    world.tick(2)
    found = api.json("GET", f"/jobs/{job}/usage")
    assert not found["is_live"]
    assert line(found["tasks"][0])["mean"] == [1.0, 3.0, 5.0]
    assert line(found["tasks"][1])["mean"] == [None, 0.5, 0.5], "all tasks have the same points"
    assert [task["rank"] for task in api.json("GET", f"/jobs/{job}/usage?rank=1")["tasks"]] == [1]
    thinned = api.json("GET", f"/jobs/{job}/usage?points=1&rank=0")
    assert (line(thinned["tasks"][0])["mean"], line(thinned["tasks"][0])["peak"]) == ([3.0], [10.0])


def test_attempts_are_kept_apart_and_all_goes_with_the_job(world: World, api: Api) -> None:
    job = world.started()
    world.engine.task(job).use = HEAD + cell(5)
    world.engine.finish(job)
    world.tick(2)
    want(world, job, "start")
    world.tick()
    world.engine.run(job, 2)
    world.engine.task(job, attempt=2).use = HEAD + cell(50, cpu=7.0)
    world.engine.finish(job, 2)
    world.tick(2)
    assert line(api.json("GET", f"/jobs/{job}/usage")["tasks"][0])["last"] == 7.0
    assert line(api.json("GET", f"/jobs/{job}/usage?attempt=1")["tasks"][0])["last"] == 1.0
    assert list(world.settings.log_dir.glob(f"{job}/*/0/use"))
    api("DELETE", f"/jobs/{job}")
    assert not list(world.settings.log_dir.glob(f"{job}*"))


def test_a_job_that_has_not_started_has_used_nothing(world: World, api: Api) -> None:
    job = world.submit(resources={"device": "npu:99"})
    found = api.json("GET", f"/jobs/{job}/usage")
    assert (found["attempt"], found["at"], found["tasks"], found["is_live"]) == (0, [], [], False)
    for query, told in (("attempt=2", "it has not been started yet"), ("rank=3", "has no rank 3")):
        response = api("GET", f"/jobs/{job}/usage?{query}")
        assert (response.status_code, told in response.text) == (404, True)
    assert api("GET", f"/jobs/{job}/usage?points=0").status_code == 422


class TestColumns:
    def test_a_long_time_in_few_points(self, tmp_path: Path) -> None:
        files = UsageFiles(tmp_path)
        data = HEAD + b"".join(cell(5.0 * number, cpu=number % 4, memory=number) for number in range(1, 3001))
        files.put("j", 1, 0, offset=0, data=data)
        use = files.read("j", 1, 0)
        assert use is not None
        edges = grid([use], 100)
        cpu, memory = (lines(use, edges)[name] for name in ("cpu", "memory"))
        assert len(cpu.mean) == 100
        assert cpu.mean == pytest.approx([1.5] * 100, abs=0.1)
        assert cpu.peak == [6.0] * 100
        assert (memory.highest, memory.last) == (3000.0, 3000.0)
        assert memory.average == pytest.approx(1500.5)

    def test_time_that_nobody_measured_is_left_out_and_wide_cells_are_spread(self, tmp_path: Path) -> None:
        files = UsageFiles(tmp_path)
        data = (
            HEAD + cell(1, seconds=1) + cell(2, seconds=1, cpu=2.0) + cell(6, seconds=4, cpu=4.0) + cell(9, seconds=1)
        )
        files.put("j", 1, 0, offset=0, data=data)
        use = files.read("j", 1, 0)
        assert use is not None
        cpu = lines(use, grid([use], 9))["cpu"]
        assert cpu.mean == [1.0, 2.0, 4.0, 4.0, 4.0, 4.0, None, None, 1.0]
        assert cpu.peak == [2.0, 4.0, 8.0, 8.0, 8.0, 8.0, None, None, 2.0]

    def test_another_generation_takes_the_place_of_the_one_before(self, tmp_path: Path) -> None:
        files = UsageFiles(tmp_path)
        assert files.known("j", 1, 0) == (-1, 0)
        files.put("j", 1, 0, offset=0, data=HEAD + cell(5) + cell(10))
        assert files.known("j", 1, 0) == (0, len(HEAD + cell(5) + cell(10)))
        files.put("j", 1, 0, offset=0, data=pack_header(Header(1, 5.0)) + cell(10, seconds=10.0))
        assert files.known("j", 1, 0) == (1, len(HEAD + cell(5)))
        use = files.read("j", 1, 0)
        assert use is not None
        assert use.seconds.tolist() == [10.0]

    def test_what_cannot_be_read_is_nothing(self, tmp_path: Path) -> None:
        files = UsageFiles(tmp_path)
        for data in (b"garbage of another kind, long enough to have a head", HEAD):
            files.put("j", 1, 0, offset=0, data=data)
            assert files.read("j", 1, 0) is None
