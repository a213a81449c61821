"""What the ascend mode refuses, and what each process is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from danlu.errors import DanluError, InvalidSpec, Unsupported
from danlu.launch import Placement, Plan, TaskPlacement, make_plan
from danlu.launch.ranktable import check
from danlu.spec.job import parse_job

CONFIG = "/opt/ml/input/config"


def plan_of(
    device: str, *ids: tuple[int, ...], attempt: int = 1, fields: dict[str, Any] | None = None, **place: Any
) -> Plan:
    """A job with one task for each tuple of device ids."""
    place.setdefault("has_simulated_devices", True)
    tasks = tuple(
        TaskPlacement(rank=rank, node=f"node-{rank}", address=f"10.88.0.{rank + 1}", device_ids=own, **place)
        for rank, own in enumerate(ids)
    )
    job = parse_job(
        {
            "name": "a",
            "command": "x",
            "launch": "ascend",
            "nodes": len(ids),
            "resources": {"device": device},
            **(fields or {}),
        }
    )
    placement = Placement(tasks=tasks, master_port=23456)
    return make_plan(job, job_id="train-1", attempt=attempt, placement=placement, output="store://main/jobs/train-1/")


@pytest.mark.parametrize(
    ("device", "ids", "place", "kind", "told"),
    [
        ("npu:3", [(0, 1, 2)], {}, InvalidSpec, "'npu:3' asks for 3 NPUs on a node; only 1, 2, 4, 8"),
        ("npu:16", [tuple(range(16))], {"device_model": "910"}, InvalidSpec, "only 1, 2, 4 or 8 of them work"),
        ("gpu:2", [(0, 1)], {}, InvalidSpec, "launch: ascend needs NPUs, not 'gpu:2'; expected npu:2"),
        ("npu:2", [(3, 4)], {"device_model": "910"}, InvalidSpec, "devices 3, 4 of node-0 cannot work together: 2"),
        ("npu:1", [(8,)], {"device_model": "910"}, InvalidSpec, "device 8 of node-0 cannot be in a rank table"),
        ("npu:1", [(16,)], {"device_model": "910b"}, InvalidSpec, "ids go to 15"),
        ("npu:2", [(0,)], {}, Unsupported, "task 0 was given 1 devices, and the job asks for 2"),
        ("npu:1", [(0,), (0,)], {"has_simulated_devices": False}, Unsupported, "the addresses of the NPUs of node-0"),
    ],
)
def test_what_the_hardware_cannot_do_is_refused_in_a_sentence(
    device: str, ids: list[tuple[int, ...]], place: dict[str, Any], kind: type[DanluError], told: str
) -> None:
    with pytest.raises(kind) as refused:
        plan_of(device, *ids, **place)
    assert told in refused.value.message


def test_every_node_has_the_same_bytes_and_its_own_ranks() -> None:
    plan = plan_of("npu:910b:4", (0, 1, 2, 3), (8, 9, 10, 11), device_model="910b")
    tables = {task.files[task.env["RANK_TABLE_FILE"]] for task in plan.tasks}
    assert len(tables) == 1
    assert check(tables.pop()) == []
    assert [(task.env["RANK_ID"], task.env["RANK_SIZE"], task.env["RANK_INDEX"]) for task in plan.tasks] == [
        ("0", "8", "0"),
        ("4", "8", "1"),
    ]
    assert plan.tasks[1].env["ASCEND_RT_VISIBLE_DEVICES"] == "8,9,10,11"
    assert plan.tasks[1].env["SOC_VERSION"] == "Ascend910B"


def test_16_devices_of_a_node_have_addresses_of_their_own() -> None:
    plan = plan_of("npu:910b:16", tuple(range(16)), tuple(range(16)), device_model="910b")
    assert check(plan.tasks[0].files[plan.tasks[0].env["RANK_TABLE_FILE"]]) == []
    assert plan.tasks[1].env["RANK_ID"] == "16"


def test_a_new_attempt_on_other_devices_has_another_table() -> None:
    first = plan_of("npu:2", (0, 1))
    second = plan_of("npu:2", (4, 5), attempt=2)
    path = f"{CONFIG}/rank_table.json"
    assert [device["device_id"] for device in json.loads(second.tasks[0].files[path])["server_list"][0]["device"]] == [
        "4",
        "5",
    ]
    assert first.tasks[0].files[path] != second.tasks[0].files[path]


def test_addresses_of_the_node_are_used_and_simulated_ones_are_made_up() -> None:
    known = plan_of("npu:1", (0,), device_ips=("192.168.1.8",), has_simulated_devices=False)
    assert '"device_ip": "192.168.1.8"' in known.tasks[0].files[f"{CONFIG}/rank_table.json"]
    assert "DANLU_SIMULATED_DEVICES" not in known.tasks[0].env
    simulated = plan_of("npu:1", (0,), (0,))
    assert '"device_ip": "198.18.0.9"' in simulated.tasks[1].files[f"{CONFIG}/rank_table.json"]
    assert simulated.tasks[0].env["DANLU_SIMULATED_DEVICES"] == "1"


def test_every_process_is_told_its_rank_and_device() -> None:
    plan = plan_of("npu:2", (0, 1), (0, 1), fields={"processes": "per_device"})
    told = [
        (each["rank"], each["env"]["RANK_ID"], each["env"]["DEVICE_ID"], each["env"]["LOCAL_RANK"])
        for task in plan.tasks
        for each in json.loads(task.files[f"{CONFIG}/processes.json"])["processes"]
    ]
    assert told == [(0, "0", "0", "0"), (1, "1", "1", "1"), (2, "2", "0", "0"), (3, "3", "1", "1")]
    assert plan.tasks[0].command == (
        *("python3", "-I", f"{CONFIG}/per_device.py", f"{CONFIG}/processes.json", "--"),
        *("/bin/bash", "-c", "x"),
    )


def test_tasks_without_addresses_of_their_own_are_told_apart_by_name() -> None:
    plan = plan_of("npu:1", (0,), (1,))
    same = [task.model_copy(update={"address": "127.0.0.1"}) for task in plan.tasks]
    placement = Placement(
        tasks=tuple(
            TaskPlacement(
                rank=task.rank,
                node="here",
                address=task.address,
                device_ids=task.device_ids,
                has_simulated_devices=True,
            )
            for task in same
        ),
        master_port=23500,
    )
    job = parse_job({"name": "a", "command": "x", "launch": "ascend", "nodes": 2, "resources": {"device": "npu"}})
    made = make_plan(job, job_id="train-1", attempt=1, placement=placement, output="store://main/jobs/train-1/")
    servers = json.loads(made.tasks[0].files[f"{CONFIG}/rank_table.json"])["server_list"]
    assert [server["server_id"] for server in servers] == ["train-1-worker-0", "train-1-worker-1"]


def test_a_modelarts_job_is_told_its_framework() -> None:
    fields = {"command": ["python3", "train.py"], "contract": "modelarts", "processes": "per_device"}
    fields["framework"] = "mindspore-2.3"
    assert plan_of("npu:1", (0,), fields=fields).tasks[0].env["MA_ENGINE_VERSION"] == "mindspore-2.3"
    del fields["framework"]
    assert "MA_ENGINE_VERSION" not in plan_of("npu:1", (0,), fields=fields).tasks[0].env


class TestSuperPods:
    def table_of(self, *pods: str | None, ips: bool = False) -> dict[str, Any]:
        """The table of a job with a task of two NPUs in each of these pods."""
        tasks = tuple(
            TaskPlacement(
                rank=rank,
                node=f"node-{rank}",
                address=f"10.88.0.{rank + 1}",
                device_ids=(0, 1),
                device_model="910c",
                device_ips=(f"192.168.{rank}.1", f"192.168.{rank}.2") if ips else (),
                super_pod=pod,
                super_devices=(str(100 * rank), str(100 * rank + 1)) if pod else (),
            )
            for rank, pod in enumerate(pods)
        )
        fields = {"name": "a", "command": "x", "launch": "ascend", "nodes": len(pods), "resources": {"device": "npu:2"}}
        plan = make_plan(
            parse_job(fields),
            job_id="train-1",
            attempt=1,
            placement=Placement(tasks=tasks, master_port=23456),
            output="store://main/jobs/train-1/",
        )
        text = plan.tasks[0].files[f"{CONFIG}/rank_table.json"]
        assert check(text) == []
        made: dict[str, Any] = json.loads(text)
        return made

    def test_a_job_in_one_pod_needs_no_addresses(self) -> None:
        made = self.table_of("7", "7")
        assert made["version"] == "1.2"
        servers = [{"server_id": "10.88.0.1"}, {"server_id": "10.88.0.2"}]
        assert made["super_pod_list"] == [{"super_pod_id": "7", "server_list": servers}]
        assert [device["super_device_id"] for device in made["server_list"][1]["device"]] == ["100", "101"]

    def test_pods_of_equally_many_servers(self) -> None:
        made = self.table_of("7", "8", ips=True)
        assert [pod["super_pod_id"] for pod in made["super_pod_list"]] == ["7", "8"]

    @pytest.mark.parametrize("pods", [("7", "7", "8"), ("7", None), (None, None)])
    def test_what_1_2_cannot_say_is_1_0(self, pods: tuple[str | None, ...]) -> None:
        made = self.table_of(*pods, ips=True)
        assert made["version"] == "1.0"
        assert "super_pod_list" not in made

    def test_two_pods_need_addresses(self) -> None:
        with pytest.raises(Unsupported, match="the addresses of the NPUs of node-0 are not known"):
            self.table_of("7", "8")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("torchrun", ["--nnodes=2", "--node_rank=1", "--nproc_per_node=2", "--master_port=23456", "--no-python"]),
        ("msrun", ["--worker_num=4", "--local_worker_num=2", "--node_rank=1", "--join=True"]),
    ],
)
def test_a_modelarts_job_may_say_who_starts_its_processes(method: str, words: list[str]) -> None:
    fields = {
        "command": ["python3", "train.py"],
        "contract": "modelarts",
        "processes": "per_device",
        "env": {"MA_RUN_METHOD": method},
    }
    command = " ".join(plan_of("npu:2", (0, 1), (0, 1), fields=fields).tasks[1].command)
    assert all(word in command for word in words)
    assert "per_device.py" not in command
    with pytest.raises(InvalidSpec, match="expected torchrun or msrun"):
        plan_of("npu:2", (0, 1), fields={**fields, "env": {"MA_RUN_METHOD": "bash"}})
