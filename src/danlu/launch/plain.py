"""`plain`: the command on every node, with Danlu's own variables. The other modes add to it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from danlu.launch.additions import Additions
from danlu.launch.layout import Layout
from danlu.launch.placement import Placement, TaskPlacement
from danlu.launch.plan import Fetch, Send, TaskPlan
from danlu.spec.devices import DeviceRequest
from danlu.spec.job import JobSpec
from danlu.spec.roles import WORKER, Group, Member, group_of, groups

SHELL = "/bin/bash"
VISIBLE_DEVICES = {
    "gpu": ("CUDA_VISIBLE_DEVICES",),
    "npu": ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"),
}


def add(job: JobSpec, *, job_id: str, placement: Placement) -> list[Additions]:
    return [Additions(environment(job, job_id=job_id, placement=placement, rank=p.rank)) for p in placement.tasks]


def environment(job: JobSpec, *, job_id: str, placement: Placement, rank: int) -> dict[str, str]:
    """The variables of TI-ONE that hold in every mode."""
    everyone = groups(job)
    return {
        "NODE_NUM": str(job.nodes),
        "INDEX": str(rank),
        "GPU_NUM_PER_NODE": str(group_of(job, rank).resources.device.count),
        "GPU_NUM": str(sum(group.count * group.resources.device.count for group in everyone)),
        "CHIEF_IP": placement.tasks[0].address,
        "NODE_LIST": node_list(job_id, everyone),
        "TI_TASK_ID": job_id,
    }


def node_list(job_id: str, some: Sequence[Group]) -> str:
    """The tasks of some groups as `host:devices,host:devices`."""
    return ",".join(
        f"{host_name(job_id, index, group.role)}:{group.resources.device.count}"
        for group in some
        for index in range(group.count)
    )


def task_plan(
    job: JobSpec,
    *,
    job_id: str,
    attempt: int,
    placement: Placement,
    place: TaskPlacement,
    member: Member,
    output: str,
    added: Additions,
) -> TaskPlan:
    """One task of an attempt, whatever its mode; `added` is what the mode adds."""
    layout = Layout(place.root)
    asked = member.group.resources
    env = {
        **_interface(placement),
        **_visible_devices(asked.device, place.device_ids),
        **added.env,
        "TI_INSTANCE_ID": f"{job_id}-{attempt}",
        **_danlu_env(job, job_id=job_id, attempt=attempt, place=place, member=member),
    }
    hyperparameters = json.dumps(job.hyperparameters, ensure_ascii=False, indent=2) + "\n"
    files = {layout.hyperparameters: hyperparameters, **added.files}
    if job.setup is not None:
        files[layout.setup_script] = job.setup if job.setup.endswith("\n") else job.setup + "\n"
    return TaskPlan(
        rank=place.rank,
        role=member.role,
        node=place.node,
        host=host_name(job_id, member.index, member.role),
        address=place.address,
        device_type=asked.device.type,
        device_ids=place.device_ids,
        root=place.root,
        command=_command(job, member.group.command or (), layout, added.launcher),
        spared=added.spared,
        has_setup=job.setup is not None,
        workdir=layout.code,
        env={**env, **job.env, **member.group.env},
        files=files,
        folders=(layout.data, layout.config, layout.code, layout.output, layout.model),
        inputs=_inputs(job, layout),
        outputs=(
            Send(path=layout.output, to=output, while_running=True),
            Send(path=layout.model, to=f"{output.rstrip('/')}/model/", while_running=False),
        ),
        cpus=asked.cpus,
        memory_bytes=asked.memory,
    )


def host_name(job_id: str, index: int, role: str = WORKER) -> str:
    """The name that the tasks of a job know each other by."""
    return f"{job_id}-{role}-{index}"


def _danlu_env(job: JobSpec, *, job_id: str, attempt: int, place: TaskPlacement, member: Member) -> dict[str, str]:
    layout, device = Layout(place.root), member.group.resources.device
    return {
        "DANLU_JOB_ID": job_id,
        "DANLU_JOB_NAME": job.name,
        "DANLU_ATTEMPT": str(attempt),
        "DANLU_RANK": str(place.rank),
        "DANLU_ROLE": member.role,
        "DANLU_ROLE_INDEX": str(member.index),
        "DANLU_NODES": str(job.nodes),
        "DANLU_NODE": place.node,
        "DANLU_DEVICE_TYPE": device.type,
        "DANLU_DEVICE_IDS": ",".join(map(str, place.device_ids)),
        "DANLU_DEVICES_PER_NODE": str(device.count),
        "DANLU_ROOT": layout.root,
        "DANLU_DATA_DIR": layout.data,
        "DANLU_CONFIG_DIR": layout.config,
        "DANLU_CODE_DIR": layout.code,
        "DANLU_OUTPUT_DIR": layout.output,
        "DANLU_MODEL_DIR": layout.model,
        "DANLU_HYPERPARAMETERS": layout.hyperparameters,
        "DANLU_TOKEN_FILE": layout.token,
    }


def _interface(placement: Placement) -> dict[str, str]:
    if not placement.interface:
        return {}
    return dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME"), placement.interface)


def _visible_devices(device: DeviceRequest, ids: tuple[int, ...]) -> dict[str, str]:
    return {name: ",".join(map(str, ids)) for name in VISIBLE_DEVICES.get(device.type, ())}


def _inputs(job: JobSpec, layout: Layout) -> tuple[Fetch, ...]:
    fetches = [Fetch(source=source, to=layout.in_data(target)) for source, target in job.data.items()]
    if job.code is not None and job.code.store is not None:
        fetches.append(Fetch(source=job.code.store, to=layout.code))
    if job.code is not None and job.code.tree is not None:
        fetches.append(Fetch(source=f"tree:{job.code.tree}", to=layout.code))
    return tuple(fetches)


def _command(job: JobSpec, line: str | Sequence[str], layout: Layout, launcher: tuple[str, ...]) -> tuple[str, ...]:
    """Setup and a shell line share one shell, so that what setup exports reaches the command."""
    if launcher:
        line = (*launcher, *((SHELL, "-c", line) if isinstance(line, str) else line))
    if job.setup is None and not isinstance(line, str):
        return tuple(line)
    command = line if isinstance(line, str) else f"exec {shlex.join(line)}"
    if job.setup is None:
        return (SHELL, "-c", command)
    setup, done = shlex.quote(layout.setup_script), shlex.quote(layout.setup_done)
    return (SHELL, "-c", f"set -e\n. {setup}\nset +e\n: > {done}\n{command}")
