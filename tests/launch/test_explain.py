"""Every mode and every contract has a table that says what its variables are for."""

from __future__ import annotations

import pytest
from tests.launch.test_golden import CASES, plan_of

from danlu.launch import explain
from danlu.launch.contracts import MODULES
from danlu.launch.documented import Told
from danlu.launch.explain import MODES, find_told
from danlu.launch.modes import MODES as STARTED
from danlu.spec.job import Contract, JobSpec, parse_job


def job_of(case: str) -> JobSpec:
    return parse_job({"name": "shapes", **CASES[case][0]})


@pytest.mark.parametrize("case", CASES)
def test_every_variable_and_file_of_a_plan_has_its_line(case: str) -> None:
    plan = plan_of(case)
    told = explain(job_of(case), plan)
    for task, about in zip(plan.tasks, told.tasks, strict=True):
        assert set(about.variables) == set(task.env)
        assert set(about.files) == set(task.files)
        assert all(line.what and line.read_by and "\n" not in line.what for line in about.variables.values())


def test_every_mode_and_contract_has_its_tables() -> None:
    assert set(MODES) == set(STARTED)
    assert set(MODULES) == set(Contract)
    for module in (*MODES.values(), *MODULES.values()):
        assert module.STARTS.endswith(".")
        assert all(isinstance(line, Told) for line in module.TOLD.values())
        assert all(isinstance(line, str) for line in module.FILES.values())


def test_a_variable_without_a_line_is_found() -> None:
    plan = plan_of("plain")
    task = plan.tasks[0].model_copy(update={"env": {**plan.tasks[0].env, "NEW_ONE": "1"}})
    with pytest.raises(KeyError, match="no line tells what NEW_ONE is for"):
        explain(job_of("plain"), plan.model_copy(update={"tasks": (task,)}))


def test_a_file_without_a_line_is_found() -> None:
    plan = plan_of("plain")
    task = plan.tasks[0].model_copy(update={"files": {"/run/new.json": "{}"}})
    with pytest.raises(KeyError, match=r"no line tells what the file new\.json is for"):
        explain(job_of("plain"), plan.model_copy(update={"tasks": (task,)}))


def test_the_part_that_set_a_variable_is_named() -> None:
    told = explain(job_of("apulis_2_nodes_4_npus"), plan_of("apulis_2_nodes_4_npus")).tasks[1].variables
    assert [told[name].set_by for name in ("DLWS_JOB_ID", "RANK_ID", "DANLU_RANK", "MODE")] == [
        "contract: apulis",
        "launch: ascend",
        "every job",
        "env of the job file",
    ]


def test_a_whole_name_comes_before_a_pattern() -> None:
    table = {"A_*": Told("any", "x"), "A_*_IP": Told("an address", "x"), "A_SELF_IP": Told("its own", "x")}
    found = [find_told(table, name) for name in ("A_SELF_IP", "A_2_IP", "A_2", "B")]
    assert [told.what if told else None for told in found] == ["its own", "an address", "any", None]
