"""`plain`: the command on every node, with Danlu's own variables. The other modes add to it."""

from __future__ import annotations

import json
import shlex

from danlu.launch.additions import Additions
from danlu.launch.layout import Layout
from danlu.launch.placement import Placement, TaskPlacement
from danlu.launch.plan import Fetch, Send, TaskPlan
from danlu.spec.devices import DeviceRequest
from danlu.spec.job import JobSpec

SHELL = "/bin/bash"
VISIBLE_DEVICES = {
    "gpu": ("CUDA_VISIBLE_DEVICES",),
    "npu": ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"),
}


def add(job: JobSpec, *, job_id: str, placement: Placement) -> list[Additions]:
    return [Additions(environment(job, job_id=job_id, placement=placement, rank=p.rank)) for p in placement.tasks]


def environment(job: JobSpec, *, job_id: str, placement: Placement, rank: int) -> dict[str, str]:
    """The variables of TI-ONE that hold in every mode."""
    devices = job.resources.device.count
    return {
        "NODE_NUM": str(job.nodes),
        "INDEX": str(rank),
        "GPU_NUM_PER_NODE": str(devices),
        "GPU_NUM": str(devices * job.nodes),
        "CHIEF_IP": placement.tasks[0].address,
        "NODE_LIST": ",".join(f"{host_name(job_id, place.rank)}:{devices}" for place in placement.tasks),
        "TI_TASK_ID": job_id,
    }


def task_plan(
    job: JobSpec,
    *,
    job_id: str,
    attempt: int,
    placement: Placement,
    place: TaskPlacement,
    output: str,
    added: Additions,
) -> TaskPlan:
    """One task of an attempt, whatever its mode; `added` is what the mode adds."""
    layout = Layout(place.root)
    rank = place.rank
    env = {
        **_interface(placement),
        **_visible_devices(job.resources.device, place.device_ids),
        **added.env,
        "TI_INSTANCE_ID": f"{job_id}-{attempt}",
        **_danlu_env(job, job_id=job_id, attempt=attempt, place=place, layout=layout),
    }
    hyperparameters = json.dumps(job.hyperparameters, ensure_ascii=False, indent=2) + "\n"
    files = {layout.hyperparameters: hyperparameters, **added.files}
    if job.setup is not None:
        files[layout.setup_script] = job.setup if job.setup.endswith("\n") else job.setup + "\n"
    return TaskPlan(
        rank=rank,
        role="worker",
        node=place.node,
        host=host_name(job_id, rank),
        address=place.address,
        device_type=job.resources.device.type,
        device_ids=place.device_ids,
        root=place.root,
        command=_command(job, layout, added.launcher),
        has_setup=job.setup is not None,
        workdir=layout.code,
        env={**env, **job.env},
        files=files,
        folders=(layout.data, layout.config, layout.code, layout.output, layout.model, layout.runs),
        inputs=_inputs(job, layout),
        outputs=(
            Send(path=layout.output, to=output, while_running=True),
            Send(path=layout.model, to=f"{output.rstrip('/')}/model/", while_running=False),
        ),
        cpus=job.resources.cpus,
        memory_bytes=job.resources.memory,
    )


def host_name(job_id: str, rank: int) -> str:
    """The name that the tasks of a job know each other by."""
    return f"{job_id}-worker-{rank}"


def _danlu_env(job: JobSpec, *, job_id: str, attempt: int, place: TaskPlacement, layout: Layout) -> dict[str, str]:
    return {
        "DANLU_JOB_ID": job_id,
        "DANLU_JOB_NAME": job.name,
        "DANLU_ATTEMPT": str(attempt),
        "DANLU_RANK": str(place.rank),
        "DANLU_NODES": str(job.nodes),
        "DANLU_NODE": place.node,
        "DANLU_DEVICE_TYPE": job.resources.device.type,
        "DANLU_DEVICE_IDS": ",".join(map(str, place.device_ids)),
        "DANLU_DEVICES_PER_NODE": str(job.resources.device.count),
        "DANLU_ROOT": layout.root,
        "DANLU_DATA_DIR": layout.data,
        "DANLU_CONFIG_DIR": layout.config,
        "DANLU_CODE_DIR": layout.code,
        "DANLU_OUTPUT_DIR": layout.output,
        "DANLU_MODEL_DIR": layout.model,
        "DANLU_RUNS_DIR": layout.runs,
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


def _command(job: JobSpec, layout: Layout, launcher: tuple[str, ...]) -> tuple[str, ...]:
    """Setup and a shell line share one shell, so that what setup exports reaches the command."""
    line = job.command
    if launcher:
        line = (*launcher, *(line if isinstance(line, tuple) else (SHELL, "-c", line)))
    if job.setup is None and isinstance(line, tuple):
        return line
    command = line if isinstance(line, str) else f"exec {shlex.join(line)}"
    if job.setup is None:
        return (SHELL, "-c", command)
    setup, done = shlex.quote(layout.setup_script), shlex.quote(layout.setup_done)
    return (SHELL, "-c", f"set -e\n. {setup}\nset +e\n: > {done}\n{command}")
