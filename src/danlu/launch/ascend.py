"""`ascend`: Huawei NPUs. All tasks get the same rank table, and variables for one process per device.

The command runs once per node and starts its processes itself, as on Apulis, or it is started once per device, as on
ModelArts (`processes: per_device`). User guide: docs/guide/ascend.md.
"""

from __future__ import annotations

import ipaddress
import json
import pkgutil
from functools import cache
from typing import NoReturn

from danlu.errors import InvalidSpec, Unsupported
from danlu.launch import plain
from danlu.launch.additions import Additions
from danlu.launch.documented import Told
from danlu.launch.layout import Layout
from danlu.launch.placement import Placement, TaskPlacement
from danlu.launch.ranktable import Chip, RankedDevice, RankTable, Server, write_a
from danlu.launch.ranktable.rules import COUNTS, LARGEST_DEVICE_ID, MOST_DEVICES, chip_of, ring_fault
from danlu.spec.job import JobSpec, Processes

NPU = "npu"
CONNECT_TIMEOUT_SECONDS = 1800
KILL_AFTER_SECONDS = 15.0
"""Time that the other processes of a node have to end after one of them failed."""

SIMULATED_NETWORK = ipaddress.IPv4Network("198.18.0.0/15")
"""Reserved for benchmarks (RFC 2544), so that no real device has such an address."""

STARTS = (
    "Every task finds the same rank table. The command runs once on every node and starts a process for each NPU "
    "itself; with `processes: per_device` it is started once for each NPU, with the variables of that one process."
)
_FRAMEWORKS = "MindSpore, TensorFlow, HCCL"
TOLD = {
    "MASTER_ADDR": Told("the address of node 0", "PyTorch, MindSpore"),
    "MASTER_PORT": Told("a port there that is free for this attempt", "PyTorch, MindSpore"),
    "RANK_TABLE_FILE": Told("the rank table: which process has which NPU of which server", _FRAMEWORKS),
    "RANK_SIZE": Told("all NPUs of the job", _FRAMEWORKS),
    "RANK_ID": Told("this process among all of the job; once per node: the node's first one", _FRAMEWORKS),
    "RANK_INDEX": Told("which node this is, from 0", "TensorFlow"),
    "DEVICE_NUM": Told("NPUs of the job on this node", "MindSpore's scripts"),
    "DEVICE_ID": Told("the NPU of this process, from 0 among those of the job here", _FRAMEWORKS),
    "DEVICE_INDEX": Told("the NPU of this process, from 0 among those of the job here", "TensorFlow"),
    "ASCEND_DEVICE_ID": Told("the NPU of this process, from 0 among those of the job here", "CANN, ModelArts scripts"),
    "JOB_ID": Told("the id of the job", "HCCL, TensorFlow"),
    "POD_NAME": Told("this task's name in the rank table of TensorFlow 1.15", "TensorFlow"),
    "SOC_VERSION": Told("the chip, from the model of the NPU", "CANN's compiler"),
    "HCCL_CONNECT_TIMEOUT": Told("seconds that HCCL waits for the other processes", "HCCL"),
    "DANLU_SIMULATED_DEVICES": Told("1: the NPUs are simulated, there is no such hardware", "your code"),
}
FILES = {
    "rank_table.json": "the rank table, version 1.0, or 1.2 on super pods: the same bytes in every task of an attempt",
    "per_device.py": "starts the command once for each NPU and ends all when one fails",
    "processes.json": "the variables and the log file of each of these processes",
}


def add(job: JobSpec, *, job_id: str, placement: Placement) -> list[Additions]:
    """The rank table and variables for each task. Raise InvalidSpec for what the hardware does not support."""
    _check(job, placement)
    table = build_table(job_id, placement)
    text = write_a(table)
    return [
        Additions(
            env=_environment(job, job_id=job_id, placement=placement, place=place, server=server, table=table),
            files={table_path(place): text, **_launcher_files(job, job_id=job_id, place=place, table=table)},
            launcher=_launcher(job, place),
        )
        for place, server in zip(placement.tasks, table.servers, strict=True)
    ]


def build_table(job_id: str, placement: Placement) -> RankTable:
    """The rank table: each task is a server; ranks count through the tasks, and through the devices of each."""
    addresses = [place.address for place in placement.tasks]
    are_own = len(set(addresses)) == len(addresses)
    servers = []
    first = 0
    for place in placement.tasks:
        name = plain.host_name(job_id, place.rank)
        devices = tuple(
            RankedDevice(device_id, ip, first + index, *place.super_devices[index : index + 1])
            for index, (device_id, ip) in enumerate(zip(place.device_ids, device_ips(place), strict=True))
        )
        # tasks that share a machine's network share its address; server_id must be unique, but may be any text
        servers.append(Server(place.address if are_own else name, name, devices, place.super_pod or ""))
        first += len(devices)
    return RankTable(tuple(servers))


def device_ips(place: TaskPlacement) -> tuple[str, ...]:
    """Addresses of the devices as the node reports them, made-up ones for simulated devices, else empty texts."""
    if place.device_ips:
        return place.device_ips
    if not place.has_simulated_devices:
        return ("",) * len(place.device_ids)
    first = place.rank * max(*COUNTS, len(place.device_ids)) + 1
    return tuple(str(SIMULATED_NETWORK[first + index]) for index in range(len(place.device_ids)))


def table_path(place: TaskPlacement) -> str:
    return f"{Layout(place.root).config}/rank_table.json"


def _environment(
    job: JobSpec, *, job_id: str, placement: Placement, place: TaskPlacement, server: Server, table: RankTable
) -> dict[str, str]:
    """Variables of a task. Those that differ between processes are set for the task's first process."""
    model = place.device_model if chip_of(place.device_model) is not None else None
    return {
        **plain.environment(job, job_id=job_id, placement=placement, rank=place.rank),
        "MASTER_ADDR": placement.tasks[0].address,
        "MASTER_PORT": str(placement.master_port),
        "RANK_TABLE_FILE": table_path(place),
        "RANK_SIZE": str(table.num_devices),
        "RANK_INDEX": str(place.rank),
        "DEVICE_NUM": str(len(server.devices)),
        "JOB_ID": job_id,
        "POD_NAME": server.pod_name,
        "SOC_VERSION": f"Ascend{(model or '910').upper()}",
        "HCCL_CONNECT_TIMEOUT": str(CONNECT_TIMEOUT_SECONDS),
        **({"DANLU_SIMULATED_DEVICES": "1"} if place.has_simulated_devices else {}),
        **_process_env(server.devices[0], 0),
    }


def _process_env(device: RankedDevice, index: int) -> dict[str, str]:
    """Variables that differ between the processes of a node.

    `ASCEND_RT_VISIBLE_DEVICES` is set, so devices are numbered from 0.
    """
    return {
        "RANK_ID": str(device.rank_id),
        "DEVICE_ID": str(index),
        "DEVICE_INDEX": str(index),
        "ASCEND_DEVICE_ID": str(index),
    }


def _launcher(job: JobSpec, place: TaskPlacement) -> tuple[str, ...]:
    if job.processes is not Processes.PER_DEVICE:
        return ()
    return ("python3", "-I", _launcher_path(place), _processes_path(place), "--")


def _launcher_files(job: JobSpec, *, job_id: str, place: TaskPlacement, table: RankTable) -> dict[str, str]:
    if job.processes is not Processes.PER_DEVICE:
        return {}
    processes = _processes_text(job, job_id=job_id, place=place, table=table)
    return {_launcher_path(place): _launcher_text(), _processes_path(place): processes}


def _processes_text(job: JobSpec, *, job_id: str, place: TaskPlacement, table: RankTable) -> str:
    """JSON for the launcher, one line per process for readability. Variables of the job take precedence."""
    logs = f"{Layout(place.root).output}/logs"
    devices = table.servers[place.rank].devices
    lines = []
    for index, device in enumerate(devices):
        env = {
            **_process_env(device, index),
            "RANK": str(device.rank_id),
            "WORLD_SIZE": str(table.num_devices),
            "LOCAL_RANK": str(index),
            "LOCAL_WORLD_SIZE": str(len(devices)),
        }
        process = {
            "rank": device.rank_id,
            "log": f"{logs}/{job_id}-proc-rank-{device.rank_id}-device-{index}.txt",
            "env": {name: value for name, value in env.items() if name not in job.env},
        }
        lines.append(f"  {json.dumps(process)}")
    return f'{{"kill_after_seconds": {KILL_AFTER_SECONDS}, "processes": [\n' + ",\n".join(lines) + "\n]}\n"


@cache
def _launcher_text() -> str:
    """Source of the launcher, which is part of the plan: an image need not have Danlu installed."""
    text = pkgutil.get_data("danlu.node", "per_device.py")
    assert text is not None
    return text.decode()


def _launcher_path(place: TaskPlacement) -> str:
    return f"{Layout(place.root).config}/per_device.py"


def _processes_path(place: TaskPlacement) -> str:
    return f"{Layout(place.root).config}/processes.json"


def _check(job: JobSpec, placement: Placement) -> None:
    device = job.resources.device
    if device.type != NPU:
        _refuse(f"launch: ascend needs NPUs, not {str(device)!r}; expected npu:{device.count}")
    is_old = any(chip_of(place.device_model) is Chip.ASCEND_910 for place in placement.tasks)
    if device.count not in (COUNTS if is_old else (*COUNTS, MOST_DEVICES)):
        known = "1, 2, 4 or 8" if is_old else "1, 2, 4, 8 or 16"
        _refuse(f"{str(device)!r} asks for {device.count} NPUs on a node; only {known} of them work together")
    for place in placement.tasks:
        _check_place(place, device.count)
    if len(placement.tasks) > 1:
        _check_addresses(placement)


def _check_place(place: TaskPlacement, count: int) -> None:
    chip = chip_of(place.device_model)
    if len(place.device_ids) != count:
        raise Unsupported(f"task {place.rank} was given {len(place.device_ids)} devices, and the job asks for {count}")
    too_high = [number for number in place.device_ids if number > LARGEST_DEVICE_ID[chip]]
    if too_high:
        _refuse(f"device {too_high[0]} of {place.node} cannot be in a rank table: ids go to {LARGEST_DEVICE_ID[chip]}")
    fault = ring_fault(place.device_ids, chip)
    if fault:
        _refuse(f"devices {', '.join(map(str, place.device_ids))} of {place.node} cannot work together: {fault}")


def _check_addresses(placement: Placement) -> None:
    if len(build_table("", placement).servers_by_pod) == 1:
        return  # within a super pod, devices do not use their network cards
    for place in placement.tasks:
        if not all(device_ips(place)):
            raise Unsupported(
                f"the addresses of the NPUs of {place.node} are not known, and a rank table of several nodes needs "
                f"them; ask for one node, or try it with simulated devices (`danlu up --simulate npu:910b:16`)"
            )


def _refuse(problem: str) -> NoReturn:
    raise InvalidSpec(f"invalid job: resources.device: {problem}", fields={"resources.device": problem})
