"""Suites as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.bench.jobs import job_of
from danlu.bench.suite import Mode, find_suite, parse_suite, read_suite, shipped
from danlu.errors import InvalidSpec, NotFound
from danlu.spec.job import parse_job

INSIDE = Path(__file__).parents[2] / "src" / "danlu" / "bench" / "inside"


@pytest.mark.parametrize("name", shipped())
def test_shipped_suites_are_jobs_with_work_that_exists(name: str) -> None:
    suite = read_suite(find_suite(name))
    assert suite.name == name
    assert (INSIDE / "work" / f"{suite.work}.py").is_file()
    assert {"steps", "warmup"} <= set(suite.parameters)
    job = parse_job(job_of(suite, run_id="bench-1", mode=Mode.NORMAL, nodes=suite.nodes))
    assert job.tags == {"kind": "bench", "bench": name, "bench-run": "bench-1"}
    assert job.max_duration == suite.timeout


def test_settings_change_a_suite() -> None:
    suite = read_suite(find_suite("matmul"), ["parameters.size=8", "device=cpu:4"])
    assert (suite.parameters["size"], suite.per_node) == (8, 4)


def test_cores_are_reserved_when_asked_for() -> None:
    suite = read_suite(find_suite("matmul"), ["cpus=4"])
    assert job_of(suite, run_id="bench-1", mode=Mode.NORMAL, nodes=1)["resources"] == {"device": "cpu:1", "cpus": 4.0}


def test_code_is_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "suite.yml").write_text(
        "name: own\ncode: code\ncommand: python3 x.py\nmeasures: {speed: {unit: m/s}}\n"
    )
    assert read_suite(tmp_path / "suite.yml").code == str(tmp_path / "code")


def test_an_unknown_suite_names_those_that_exist() -> None:
    with pytest.raises(NotFound, match="no suite 'allreduced'; expected a file, or one of allreduce, dataload"):
        find_suite("allreduced")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"work": None}, "expected either work or command"),
        ({"command": "true"}, "expected either work or command"),
        ({"criteria": {"speed": {"at_least": 1}}}, "criteria: 'speed' is not measured; measured: bandwidth"),
        ({"device": "cpu:0"}, "expected 1 to 1024 devices per node"),
        ({"measures": {}}, "measures"),
        ({"nodes": 0}, "nodes"),
        ({"node": 2}, "node: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_suite_is_told(change: dict[str, object], told: str) -> None:
    values = {"name": "m", "work": "memory", "measures": {"bandwidth": {}}}
    with pytest.raises(InvalidSpec, match=told):
        parse_suite({**values, **change}, where="suite.yml")
