"""What is started, word for word. `pytest tests/launch --update-golden` writes the files anew; read the diff after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import danlu.node
from danlu.launch import Owner, Placement, Plan, TaskPlacement, make_plan
from danlu.launch.placement import SANDBOX_ROOT
from danlu.spec.job import parse_job

PROGRAMS = Path(danlu.node.__file__).parent
GOLDEN = Path(__file__).with_name("golden")
JOB_ID = "train-063201600010159575"
OUTPUT = f"store://main/jobs/{JOB_ID}/"


def placed(num_tasks: int, *, devices: int = 0, is_simulated: bool = False, **changes: Any) -> Placement:
    """Tasks of one attempt, each on a node of its own."""
    tasks = tuple(
        TaskPlacement(
            rank=rank,
            node=changes.get("node", f"node-{rank}"),
            address=changes.get("address", f"10.88.0.{rank + 1}"),
            port=changes["task_port"] + rank if "task_port" in changes else 2222,
            device_ids=tuple(range(devices)),
            device_model=changes.get("model"),
            has_simulated_devices=is_simulated,
            root=f"{changes['root']}/{rank}/ml" if "root" in changes else SANDBOX_ROOT,
        )
        for rank in range(num_tasks)
    )
    return Placement(tasks=tasks, master_port=changes.get("port", 23456), interface="lo")


CASES: dict[str, tuple[dict[str, Any], Placement]] = {
    "plain": ({"command": "python train.py --lr 0.1"}, placed(1)),
    "plain_setup_list": (
        {
            "command": ["python", "train.py", "--note", "two words; $HOME"],
            "setup": "pip install -r requirements.txt\nexport MODE=fast",
            "env": {"BATCH": 64, "DEBUG": False},
            "hyperparameters": {"lr": 0.1, "layers": [1, 2], "名": "丹炉"},
            "code": {"store": "store://main/code/v1"},
            "data": {"store://main/images": "images", "main/labels.csv": "/data/labels.csv"},
            "resources": {"cpus": 2, "memory": "4GiB"},
            "grace": "1m",
        },
        placed(1),
    ),
    "ddp_2_nodes_cpu": (
        {
            "command": "torchrun --nproc_per_node=2 train.py",
            "nodes": 2,
            "launch": "ddp",
            "resources": {"device": "cpu:2"},
            "code": {"tree": "0" * 64},
        },
        placed(2),
    ),
    "ddp_2_nodes_8_npus": (
        {"command": "bash run.sh", "nodes": 2, "launch": "ddp", "resources": {"device": "npu:910b:8"}},
        placed(2, devices=8),
    ),
    "ddp_without_sandbox": (
        {"command": "bash run.sh", "nodes": 2, "launch": "ddp", "data": {"main/images": "images"}},
        placed(2, root="/srv/danlu/job/1", port=23500),
    ),
    "ascend_1_device": (
        {"command": "python train.py", "launch": "ascend", "resources": {"device": "npu"}},
        placed(1, devices=1),
    ),
    "ascend_2_nodes_8_npus": (
        {"command": "bash train.sh", "nodes": 2, "launch": "ascend", "resources": {"device": "npu:910b:8"}},
        placed(2, devices=8, is_simulated=True, model="910b"),
    ),
    "ascend_per_device_setup": (
        {
            "command": "python train.py",
            "nodes": 2,
            "launch": "ascend",
            "processes": "per_device",
            "resources": {"device": "npu:2"},
            "setup": "export MODE=fast",
            "env": {"HCCL_CONNECT_TIMEOUT": 600, "DEVICE_INDEX": 0},
        },
        placed(2, devices=2, is_simulated=True, model="910"),
    ),
    "plain_roles": (
        {
            "roles": {
                "actor": {"command": "python act.py", "count": 2, "env": {"SEED": 1}},
                "learner": {"command": ["python", "learn.py"], "resources": {"device": "cpu:4", "memory": "8GB"}},
            },
            "env": {"SEED": 0},
        },
        placed(3),
    ),
    "ps_worker": (
        {
            "launch": "ps_worker",
            "roles": {
                "ps": {"command": "python ps.py", "count": 2},
                "worker": {"command": "python train.py", "count": 2, "resources": {"device": "cpu:2"}},
            },
        },
        placed(4),
    ),
    "ps_worker_chief_evaluator": (
        {
            "launch": "ps_worker",
            "setup": "export MODE=fast",
            "roles": {
                "evaluator": {"command": "python eval.py"},
                "ps": {"command": "python ps.py"},
                "worker": {"command": "python train.py", "count": 2},
                "chief": {"command": "python train.py --chief", "env": {"SAVE": 1}},
            },
        },
        placed(5),
    ),
    "deepspeed_2_nodes": (
        {"command": ["deepspeed", "train.py"], "launch": "deepspeed", "nodes": 2, "resources": {"device": "cpu:2"}},
        placed(2),
    ),
    "colossalai_2_nodes": (
        {"command": "colossalai run train.py", "launch": "colossalai", "nodes": 2, "contract": "tione"},
        placed(2),
    ),
    "ray_2_nodes": ({"command": "python tune.py", "launch": "ray", "nodes": 2}, placed(2)),
    "ray_roles": (
        {
            "launch": "ray",
            "roles": {
                "launcher": {"command": "python tune.py", "resources": {"cpus": 2}},
                "worker": {"count": 1, "resources": {"device": "npu:2"}},
            },
        },
        placed(2, devices=2, model="910b"),
    ),
    "tione_2_nodes": ({"command": "sh start_cloud.sh", "contract": "tione", "launch": "ddp", "nodes": 2}, placed(2)),
    "apulis_1_node_cpu": ({"command": ["bash", "run.sh"], "contract": "apulis"}, placed(1)),
    "apulis_2_nodes_4_npus": (
        {
            "command": "sudo -E bash -c 'source /pod.env && ./run.sh'",
            "nodes": 2,
            "launch": "ascend",
            "contract": "apulis",
            "resources": {"device": "npu:4"},
            "env": {"MODE": "it's fast"},
        },
        placed(2, devices=4, is_simulated=True, model="910"),
    ),
    "apulis_ps_worker": (
        {
            "launch": "ps_worker",
            "contract": "apulis",
            "roles": {
                "ps": {"count": 1, "command": "python ps.py"},
                "worker": {"count": 2, "command": ["python", "work.py"], "resources": {"device": "gpu:2"}},
            },
        },
        placed(3),
    ),
    "modelarts_2_nodes_2_npus": (
        {
            "command": ["python", "resnet/train.py"],
            "nodes": 2,
            "launch": "ascend",
            "processes": "per_device",
            "contract": "modelarts",
            "resources": {"device": "npu:2"},
            "data": {"store://main/imagenet": "data_url", "store://main/more": "deep/er"},
            "hyperparameters": {"epoch_size": 5, "run_distribute": True, "layers": [1, 2], "name": "it's"},
        },
        placed(2, devices=2, is_simulated=True),
    ),
    "mpi": (
        {
            "launch": "mpi",
            "command": "mpirun -np ${GPU_NUM} -H ${NODE_IP_SLOT_LIST} python train.py",
            "nodes": 2,
            "resources": {"device": "cpu:2"},
        },
        placed(2),
    ),
    "mpi_roles_setup": (
        {
            "launch": "mpi",
            "setup": "export MODE=fast",
            "roles": {
                "launcher": {"command": ["mpirun", "python", "train.py"]},
                "worker": {"count": 2, "resources": {"device": "gpu:8"}},
            },
        },
        placed(3),
    ),
    "horovod_without_sandbox": (
        {
            "launch": "horovod",
            "command": "horovodrun -np ${GPU_NUM} -H ${NODE_IP_SLOT_LIST} python train.py",
            "nodes": 2,
            "grace": "90s",
        },
        placed(2, node="here", address="127.0.0.1", root="/srv/danlu/job/1", port=23500, task_port=23501),
    ),
}
OWNER = Owner(user="lilei", project="vision", project_id=7)


def plan_of(case: str) -> Plan:
    values, placement = CASES[case]
    job = parse_job({"name": "shapes", "secrets": {"HF_TOKEN": "hunter2"}, **values})
    return make_plan(job, job_id=JOB_ID, attempt=1, placement=placement, output=OUTPUT, owner=OWNER)


def readable(plan: Plan) -> dict[str, Any]:
    """The plan as JSON; of our own programs that travel in it, the name instead of the text."""
    values = plan.model_dump(mode="json")
    for task in values["tasks"]:
        for path, text in task["files"].items():
            for program in PROGRAMS.rglob(Path(path).name):
                if program.suffix == ".py" and program.read_text() == text:
                    task["files"][path] = f"the text of danlu/node/{program.relative_to(PROGRAMS)}"
    return values


@pytest.mark.parametrize("case", CASES)
def test_the_plan_is_the_golden_one(case: str, request: pytest.FixtureRequest) -> None:
    file = GOLDEN / f"{case}.json"
    made = json.dumps(readable(plan_of(case)), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(made)
    assert json.loads(made) == json.loads(file.read_text())


def test_every_golden_file_is_in_use() -> None:
    assert {file.stem for file in GOLDEN.glob("*.json")} == set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_no_secret_is_in_a_plan(case: str) -> None:
    text = plan_of(case).model_dump_json()
    assert "hunter2" not in text
    assert "HF_TOKEN" not in text
