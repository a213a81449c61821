"""What holds for every plan, whatever the job."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.launch import Placement, Plan, TaskPlacement, explain, make_plan
from danlu.launch.modes import MODES
from danlu.spec.job import JobSpec, LaunchMode, parse_job
from danlu.spec.roles import LAUNCHED_MODES, members

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
names = st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True).filter(lambda name: not name.startswith("DANLU_"))


_CONTRACTS: dict[LaunchMode, list[str | None]] = {LaunchMode.PS_WORKER: [None]}
_PROCESSES = {None: ["per_node", "per_device"], "apulis": ["per_node"], "modelarts": ["per_device"]}


@st.composite
def ps_worker_roles(draw: st.DrawFn, command: Any, resources: Any) -> dict[str, Any]:
    names = ["ps", "worker", *draw(st.sets(st.sampled_from(["chief", "evaluator"])))]
    return {
        name: {
            "command": command,
            "resources": resources if name == "worker" else {"device": "cpu"},
            "count": 1 if name == "chief" else draw(st.integers(1, 3)),
        }
        for name in draw(st.permutations(names))
    }


@st.composite
def jobs(draw: st.DrawFn) -> JobSpec:
    mode = draw(st.sampled_from(list(MODES)))
    is_ascend = mode is LaunchMode.ASCEND
    device = draw(st.sampled_from(["npu"] if is_ascend else ["cpu", "gpu", "npu"]))
    values: dict[str, Any] = {
        "name": "job",
        "command": [*draw(st.lists(words, min_size=1, max_size=4).filter(lambda line: bool(line[0].strip()))), "t.py"],
        "nodes": draw(st.integers(1, 4)),
        "launch": mode.value,
        "contract": (contract := draw(st.sampled_from(_CONTRACTS.get(mode, [None, "apulis", "modelarts"])))),
        "processes": draw(st.sampled_from(_PROCESSES[contract])) if is_ascend else "per_node",
        "resources": {"device": f"{device}:{draw(st.sampled_from([1, 2, 4, 8]) if is_ascend else st.integers(1, 8))}"},
        "env": draw(st.dictionaries(names, words, max_size=3)),
        "hyperparameters": draw(st.dictionaries(words, st.integers() | words, max_size=3)),
        "setup": draw(st.none() | words),
    }
    if mode is LaunchMode.PS_WORKER:
        values["roles"] = draw(ps_worker_roles(values.pop("command"), values.pop("resources")))
        values.pop("nodes")
    secrets = draw(st.dictionaries(names.map("S_{}".format), words.map("hunter2-{}".format), max_size=2))
    return parse_job({**values, "secrets": {name: text for name, text in secrets.items() if name not in values["env"]}})


def plan_of(job: JobSpec) -> Plan:
    tasks = tuple(
        TaskPlacement(
            rank=rank,
            node="here",
            address=f"10.88.0.{rank + 1}",
            port=2222,
            device_ids=tuple(range(member.group.resources.device.count)),
            has_simulated_devices=True,
        )
        for rank, member in enumerate(members(job))
    )
    placement = Placement(tasks=tasks, master_port=23456)
    return make_plan(job, job_id="train-1", attempt=3, placement=placement, output="store://main/jobs/train-1/")


@given(jobs())
def test_everything_in_a_plan_is_explained(job: JobSpec) -> None:
    plan = plan_of(job)
    told = explain(job, plan)
    for task, about in zip(plan.tasks, told.tasks, strict=True):
        assert set(about.variables) == set(task.env)
        assert set(about.files) == set(task.files)


@given(jobs())
def test_a_plan_is_pure_and_survives_json(job: JobSpec) -> None:
    plan = plan_of(job)
    assert plan_of(job) == plan
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


@given(jobs())
def test_no_value_of_a_secret_is_in_a_plan(job: JobSpec) -> None:
    assert "hunter2-" not in plan_of(job).model_dump_json()


@given(jobs())
def test_each_rank_knows_its_place_and_the_users_variables_win(job: JobSpec) -> None:
    plan = plan_of(job)
    assert [task.rank for task in plan.tasks] == list(range(job.nodes))
    for task in plan.tasks:
        own = {name: task.env[name] for name in ("DANLU_RANK", "DANLU_NODES", "DANLU_ATTEMPT", "DANLU_JOB_ID")}
        assert own == {
            "DANLU_RANK": str(task.rank),
            "DANLU_NODES": str(job.nodes),
            "DANLU_ATTEMPT": "3",
            "DANLU_JOB_ID": "train-1",
        }
        assert {name: task.env[name] for name in job.env} == job.env
        assert len({task.env["NODE_LIST"] for task in plan.tasks} | {task.env["CHIEF_IP"] for task in plan.tasks}) == 2
        assert json.loads(task.files["/opt/ml/input/config/hyperparameters.json"]) == job.hyperparameters


@given(st.lists(words.filter(lambda word: word.isprintable()), min_size=1, max_size=4))
def test_the_words_of_a_list_reach_the_command_through_setup(line: list[str]) -> None:
    """Beside setup a list goes through a shell, which must not read anything into it."""
    job = parse_job({"name": "a", "command": ["printf", "%s\\n", *line], "setup": "true"})
    command = plan_of(job).tasks[0].command[-1].split("\n", 4)[4]
    done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "".join(f"{word}\n" for word in line)


def test_every_mode_has_a_launcher() -> None:
    assert set(MODES) == set(LaunchMode)


@pytest.mark.parametrize("mode", sorted(set(MODES) - {LaunchMode.PS_WORKER}))
def test_ti_one_variables_are_set_in_every_mode(mode: LaunchMode) -> None:
    job = parse_job({"name": "a", "command": "x", "nodes": 2, "launch": mode.value, "resources": {"device": "npu:4"}})
    env = plan_of(job).tasks[1].env
    assert (env["NODE_NUM"], env["INDEX"], env["GPU_NUM_PER_NODE"], env["GPU_NUM"]) == ("2", "1", "4", "8")
    assert (env["TI_TASK_ID"], env["TI_INSTANCE_ID"]) == ("train-1", "train-1-3")
    names = ("launcher-0", "worker-0") if mode in LAUNCHED_MODES else ("worker-0", "worker-1")
    assert env["NODE_LIST"] == f"train-1-{names[0]}:4,train-1-{names[1]}:4"
