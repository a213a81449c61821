"""`plain`: the command on every node, with Danlu's own variables. The other modes add to it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from danlu.launch.additions import Additions
from danlu.launch.documented import DANLU, TIONE, Told
from danlu.launch.layout import CHECKPOINTS, EM, Layout
from danlu.launch.placement import Placement, TaskPlacement
from danlu.launch.plan import Environment, Fetch, Gate, Image, Send, TaskPlan
from danlu.spec.devices import DeviceRequest
from danlu.spec.job import JobSpec
from danlu.spec.roles import WORKER, Group, Member, group_of, groups

SHELL = "/bin/bash"
PLAIN_SHELL = "/bin/sh"
"""For images, which may have no bash. Contracts need bash, which images for those platforms have."""

_WAIT = (
    'echo "Everything is ready, and the command is not started: danlu shell $DANLU_JOB_ID --rank $DANLU_RANK"\n'
    "exec tail -f /dev/null"
)
"""Runs instead of the command in debug mode. `exec`: a shell in the task gets the variables of its main process."""

VISIBLE_DEVICES = {
    "gpu": ("CUDA_VISIBLE_DEVICES",),
    "npu": ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"),
}
STARTS = (
    "The command runs once on every node. The tasks get to know each other's names, and nothing is set up for them."
)
TOLD = {
    "NODE_NUM": Told("how many nodes the job has", TIONE),
    "INDEX": Told("which node of the job this is, from 0", TIONE),
    "GPU_NUM_PER_NODE": Told("devices of the job on each node", TIONE),
    "GPU_NUM": Told("devices of the job on all nodes", TIONE),
    "CHIEF_IP": Told("the address of node 0", TIONE),
    "NODE_LIST": Told("the host name of every node, each with its number of devices", TIONE),
    "TI_TASK_ID": Told("the id of the job", f"{TIONE}, tikit"),
    "TI_INSTANCE_ID": Told("the id of this attempt", f"{TIONE}, tikit"),
    "CUDA_VISIBLE_DEVICES": Told("the job's GPUs; programs count them from 0", "CUDA, PyTorch"),
    "ASCEND_RT_VISIBLE_DEVICES": Told("the physical ids of the job's NPUs; programs count them from 0", "CANN"),
    "ASCEND_VISIBLE_DEVICES": Told("the physical ids of the job's NPUs", "Ascend's container runtime, MindSpore"),
    "GLOO_SOCKET_IFNAME": Told("the network interface that the tasks' addresses are on", "PyTorch's gloo"),
    "NCCL_SOCKET_IFNAME": Told("the network interface that the tasks' addresses are on", "NCCL"),
    "HCCL_SOCKET_IFNAME": Told("the network interface that the tasks' addresses are on", "HCCL"),
    "DANLU_JOB_ID": Told("the id of the job", DANLU),
    "DANLU_JOB_NAME": Told("the job's name", DANLU),
    "DANLU_ATTEMPT": Told("the number of this attempt, from 1; later ones come after a failure or a pause", DANLU),
    "DANLU_RANK": Told("which task of the job this is, from 0", DANLU),
    "DANLU_ROLE": Told("which role of the job this is: worker, unless it has roles", DANLU),
    "DANLU_ROLE_INDEX": Told("which task of that role, from 0", DANLU),
    "DANLU_NODES": Told("how many tasks the job has", DANLU),
    "DANLU_NODE": Told("the machine that the task is on", DANLU),
    "DANLU_DEVICE_TYPE": Told("cpu, gpu or npu", DANLU),
    "DANLU_DEVICE_IDS": Told("the physical ids of the task's devices", DANLU),
    "DANLU_DEVICES_PER_NODE": Told("how many devices every task has", DANLU),
    "DANLU_ROOT": Told("the folder that holds input/, code/, output/ and model/", DANLU),
    "DANLU_DATA_DIR": Told("where the inputs of `data` are", DANLU),
    "DANLU_CONFIG_DIR": Told("where Danlu's own files are", DANLU),
    "DANLU_CODE_DIR": Told("the code folder, in which the command is started", DANLU),
    "DANLU_OUTPUT_DIR": Told("what is written here is uploaded while the command runs", DANLU),
    "DANLU_CHECKPOINT_DIR": Told("what is saved here is here again in the job's next attempt", DANLU),
    "DANLU_STOP_FILE": Told("a file that appears when the task should end; danlu.preempted() checks for it", DANLU),
    "DANLU_MODEL_DIR": Told("what is written here is uploaded after the command's end", DANLU),
    "DANLU_RUNS_DIR": Told("journals of runs: brought to the server while the command runs", DANLU),
    "DANLU_HYPERPARAMETERS": Told("the file with the job's hyperparameters, as JSON", DANLU),
    "DANLU_TOKEN_FILE": Told("the attempt's own credentials, valid until its end", "Danlu's SDK"),
}
FILES = {
    "hyperparameters.json": "the job's hyperparameters, as they are in the job file",
    "setup.sh": "the job's setup; it is read by the shell that starts the command, so that what it exports stays",
}


def add(job: JobSpec, *, job_id: str, placement: Placement) -> list[Additions]:
    return [Additions(environment(job, job_id=job_id, placement=placement, rank=p.rank)) for p in placement.tasks]


def environment(job: JobSpec, *, job_id: str, placement: Placement, rank: int) -> dict[str, str]:
    """Variables of TI-ONE that are set in every mode."""
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
    """The tasks of these groups as `host:devices,host:devices`."""
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
    """The plan of one task; `added` are the additions of its mode and contract."""
    layout = Layout(place.root)
    asked = member.group.resources
    own = own_environment(job, job_id=job_id, attempt=attempt, placement=placement, place=place, member=member)
    env = {**own, **added.env}
    hyperparameters = json.dumps(job.hyperparameters, ensure_ascii=False, indent=2) + "\n"
    files = {layout.hyperparameters: hyperparameters, **added.files}
    if job.setup is not None:
        files[layout.setup_script] = job.setup if job.setup.endswith("\n") else job.setup + "\n"
    setup = () if job.setup is None else (Gate(name="setup", reason="setup_failed", passed=layout.setup_done),)
    return TaskPlan(
        rank=place.rank,
        role=member.role,
        node=place.node,
        host=host_name(job_id, member.index, member.role),
        address=place.address,
        device_type=asked.device.type,
        device_ids=place.device_ids,
        root=place.root,
        command=_command(job, member.group.command or (), layout, added),
        spared=added.spared,
        gates=(*setup, *added.gates),
        workdir=layout.code,
        env={**env, **job.env, **member.group.env},
        files=files,
        folders=(layout.data, layout.config, layout.code, layout.output, layout.checkpoints, layout.model, layout.runs),
        inputs=(*_inputs(job, layout), *_checkpoints(attempt, layout, output)),
        outputs=(
            Send(path=layout.output, to=output, while_running=True),
            Send(path=layout.model, to=f"{output.rstrip('/')}/model/", while_running=False),
            # files of t9k.em, even if the script does not upload them itself
            Send(path=f"{layout.code}/{EM}", to=f"{output.rstrip('/')}/{EM}/", while_running=False),
        ),
        cpus=asked.cpus,
        memory_bytes=asked.memory,
        user=added.user,
        mounts=added.mounts,
        image=_image(job),
        environment=_environment(job, added.project_id),
        log_copy=added.log_copy,
    )


def host_name(job_id: str, index: int, role: str = WORKER) -> str:
    """Host name of a task, by which the other tasks of the job reach it."""
    return f"{job_id}-{role}-{index}"


def own_environment(
    job: JobSpec, *, job_id: str, attempt: int, placement: Placement, place: TaskPlacement, member: Member
) -> dict[str, str]:
    """Variables of Danlu, which are set in every mode."""
    layout, device = Layout(place.root), member.group.resources.device
    return {
        **_interface(place.interface or placement.interface),
        **_visible_devices(device, place),
        "TI_INSTANCE_ID": f"{job_id}-{attempt}",
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
        "DANLU_CHECKPOINT_DIR": layout.checkpoints,
        "DANLU_STOP_FILE": layout.stop_file,
        "DANLU_MODEL_DIR": layout.model,
        "DANLU_RUNS_DIR": layout.runs,
        "DANLU_HYPERPARAMETERS": layout.hyperparameters,
        "DANLU_TOKEN_FILE": layout.token,
    }


def _interface(name: str) -> dict[str, str]:
    if not name:
        return {}
    return dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME"), name)


def _visible_devices(device: DeviceRequest, place: TaskPlacement) -> dict[str, str]:
    """Devices by UUID if known: numbers change their meaning where only some device files are visible."""
    shown = ",".join(place.device_uuids or map(str, place.device_ids))
    return dict.fromkeys(VISIBLE_DEVICES.get(device.type, ()), shown)


def _inputs(job: JobSpec, layout: Layout) -> tuple[Fetch, ...]:
    fetches = [Fetch(source=source, to=layout.in_data(target)) for source, target in job.data.items()]
    if job.code is not None and job.code.store is not None:
        fetches.append(Fetch(source=job.code.store, to=layout.code))
    if job.code is not None and job.code.tree is not None:
        fetches.append(Fetch(source=f"tree:{job.code.tree}", to=layout.code))
    return tuple(fetches)


def _image(job: JobSpec) -> Image | None:
    if job.image is None:
        return None
    login = job.image_login
    return Image(name=job.image, username=login.username if login else "", secret=login.secret if login else "")


def _environment(job: JobSpec, project_id: int) -> Environment | None:
    if job.requirements is None and job.python is None:
        return None
    named = job.requirements or ()
    return Environment(
        file=named if isinstance(named, str) else "",
        packages=() if isinstance(named, str) else named,
        python=job.python or "",
        project_id=project_id,
    )


def _checkpoints(attempt: int, layout: Layout, output: str) -> tuple[Fetch, ...]:
    """Input with the checkpoints of earlier attempts."""
    if attempt == 1:
        return ()
    return (Fetch(source=f"{output.rstrip('/')}/{CHECKPOINTS}/", to=layout.checkpoints, is_own=True),)


def _command(job: JobSpec, line: str | Sequence[str], layout: Layout, added: Additions) -> tuple[str, ...]:
    """Setup, prologue and command share one shell, so that variables exported by the first two reach the command."""
    shell = PLAIN_SHELL if job.image is not None and job.contract is None else SHELL
    if job.debug:
        line, added = _WAIT, added._replace(launcher=())
    if not isinstance(line, str):
        line = (*line, *added.arguments)
    if added.launcher:
        line = (*added.launcher, *((shell, "-c", line) if isinstance(line, str) else line))
    before = [*_setup_lines(job, layout), *([added.prologue] if added.prologue else [])]
    if not before:
        return (shell, "-c", line) if isinstance(line, str) else line
    command = line if isinstance(line, str) else f"exec {shlex.join(line)}"
    return (shell, "-c", "\n".join([*before, command]), *((added.shell_name,) if added.shell_name else ()))


def _setup_lines(job: JobSpec, layout: Layout) -> list[str]:
    if job.setup is None:
        return []
    return ["set -e", f". {shlex.quote(layout.setup_script)}", "set +e", f": > {shlex.quote(layout.setup_done)}"]
