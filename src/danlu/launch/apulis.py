"""`contract: apulis`: the environment that scripts for Apulis and DLWorkspace expect. User guide: docs/guide/ascend.md.

Everything in the home folder is created by the task's own shell, never by an engine: the folder belongs to the user,
who may have replaced parts of it by symbolic links.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from danlu.errors import InvalidSpec
from danlu.launch import plain, sudo
from danlu.launch.additions import Additions
from danlu.launch.ascend import NPU, build_table, device_ips
from danlu.launch.documented import Told
from danlu.launch.layout import Layout
from danlu.launch.owner import Owner, login_name
from danlu.launch.placement import Placement, TaskPlacement
from danlu.launch.plan import Mount
from danlu.launch.ranktable import write_b, write_c
from danlu.launch.ranktable.write import LARGEST_OLD_DEVICE_ID
from danlu.spec.job import JobSpec, LaunchMode, Processes
from danlu.spec.roles import PS, WORKER, Member, members

POD_ENV = "/pod.env"
SHARED = ("/data", "/dlwsdata/storage")
"""Two paths of one folder: the one that jobs use, and the one on Apulis' machines, which its FAQ names."""

MASTER = "master"
NOT_IN_POD_ENV = ("HOME", "INTERACTIVE", "LS_COLORS", "PATH", "PWD")
"""Prefixes of variables that, as on Apulis, are not in the file: they belong to the shell that reads it."""

NUMBERS = 'export DLWS_UID="$(id -u)" DLWS_GID="$(id -g)"'
"""Lines for the shell, because the user id is only known where the task runs."""

_SCRIPTS = "scripts written for Apulis"
STARTS = (
    "As on Apulis: /pod.env holds the variables, /home/<user> and /data outlive the job, the log is also in the home "
    "folder, and `sudo -E` works."
)
TOLD = {
    "HOME": Told("the owner's home folder; it outlives the job", "every program"),
    "USER": Told("the name of the job's owner", "every program"),
    "LOGNAME": Told("the name of the job's owner", "every program"),
    "DLWS_JOB_ID": Told("the id of the job", _SCRIPTS),
    "DLWS_VC_NAME": Told("the project that the job belongs to", _SCRIPTS),
    "DLWS_USER_NAME": Told("the name of the job's owner", _SCRIPTS),
    "DLWS_ROLE_NAME": Told("master when the job has one task, else the task's role", _SCRIPTS),
    "DLWS_ROLE_IDX": Told("which task of its role this is, from 0", _SCRIPTS),
    "DLWS_NUM_PS": Told("how many tasks are parameter servers", _SCRIPTS),
    "DLWS_NUM_WORKER": Told("how many tasks are workers", _SCRIPTS),
    "DLWS_WORKER_NUM": Told("how many tasks are workers, in jobs with several", _SCRIPTS),
    "DLWS_NUM_GPU_PER_WORKER": Told("devices of each task", _SCRIPTS),
    "DLWS_GPU_TYPE": Told("the kind of device, as the job file has it", _SCRIPTS),
    "DLWS_IS_NPU_JOB": Told("whether the devices are NPUs: true or false", _SCRIPTS),
    "DLWS_LAUNCH_CMD": Told("the job's command", _SCRIPTS),
    "POD_IP": Told("the address of this task", _SCRIPTS),
    "POD_NAME": Told("the name of this task", _SCRIPTS),
    "DLWS_SD_SELF_IP": Told("the address of this task", _SCRIPTS),
    "DLWS_SD_*_IP": Told("the address of that task", _SCRIPTS),
    "DLWS_SD_*_HOST_IP": Told("the address of that task: tasks do not know the machines that they are on", _SCRIPTS),
    "DLWS_SD_*_NPU_IP_LIST": Told("the NPUs of that task with their own addresses", _SCRIPTS),
    "VISIBLE_IDS": Told("the physical ids of the task's devices", _SCRIPTS),
    "NPU_IPS": Told("the NPUs of this task with their own addresses", _SCRIPTS),
}
FILES = {
    **sudo.FILES,
    "pod.env": "all variables of the task for a shell to read: `source /pod.env`; secrets are not in it",
    "hccl_ms.json": "the rank table of MindSpore 0.x; copied to ~/.npu/<job>/ before the command starts",
    "hccl_tf.json": "the rank table of TensorFlow 1.15; copied to ~/.npu/<job>/ before the command starts",
}


def add(
    job: JobSpec, added: list[Additions], *, job_id: str, attempt: int, placement: Placement, owner: Owner
) -> list[Additions]:
    _check(job)
    user = login_name(owner.user)
    home = f"/home/{user}"
    tables = _old_tables(job, job_id, placement)
    result = []
    for place, member, before in zip(placement.tasks, members(job), added, strict=True):
        layout = Layout(place.root)
        env = {
            **before.env,
            **_environment(job, job_id=job_id, placement=placement, member=member, owner=owner, user=user),
        }
        own = {f"{layout.config}/{name}": text for name, text in tables.items()}
        pod_env = _pod_env(
            {
                **plain.own_environment(
                    job, job_id=job_id, attempt=attempt, placement=placement, place=place, member=member
                ),
                **env,
                **job.env,
                **member.group.env,
            }
        )
        result.append(
            before._replace(
                env=env,
                files={**before.files, **own, sudo.path(layout): sudo.TEXT, POD_ENV: pod_env},
                prologue="\n".join(_prologue(layout, job_id=job_id, tables=list(own))),
                mounts=(
                    Mount(kind="home", name=user, to=home),
                    *(Mount(kind="shared", name=str(owner.project_id), to=place) for place in SHARED),
                ),
                user=user,
                log_copy=f"{home}/jobs/{job_id}/logs/joblog-{attempt}-{place.rank}.txt",
            )
        )
    return result


def _check(job: JobSpec) -> None:
    if job.processes is Processes.PER_DEVICE:
        # /pod.env holds the variables of one process, and all processes of the node would read it
        problem = "Apulis starts the command once on every node; expected 'per_node'"
        raise InvalidSpec(f"invalid job: processes: {problem}", fields={"processes": problem})


def _environment(
    job: JobSpec, *, job_id: str, placement: Placement, member: Member, owner: Owner, user: str
) -> dict[str, str]:
    everyone = members(job)
    place, device = placement.tasks[member.rank], member.group.resources.device
    command = member.group.command
    env = {
        "HOME": f"/home/{user}",
        "USER": user,
        "LOGNAME": user,
        "DLWS_JOB_ID": job_id,
        "DLWS_VC_NAME": owner.project,
        "DLWS_USER_NAME": user,
        "DLWS_ROLE_NAME": _role(member, everyone),
        "DLWS_ROLE_IDX": str(member.index),
        "DLWS_NUM_PS": str(sum(other.role == PS for other in everyone)),
        "DLWS_NUM_WORKER": str(sum(other.role == WORKER for other in everyone)),
        "DLWS_NUM_GPU_PER_WORKER": str(device.count if device.is_scarce else 0),
        "DLWS_GPU_TYPE": ":".join(part for part in (device.type, device.model) if part),
        "DLWS_IS_NPU_JOB": "true" if device.type == NPU else "false",
        "DLWS_LAUNCH_CMD": command if isinstance(command, str) else shlex.join(command or ()),
        "POD_IP": place.address,
        "POD_NAME": plain.host_name(job_id, member.index, member.role),
        "DLWS_SD_SELF_IP": place.address,
    }
    if len(everyone) > 1:
        env["DLWS_WORKER_NUM"] = env["DLWS_NUM_WORKER"]
    for other, its_place in zip(everyone, placement.tasks, strict=True):
        name = f"DLWS_SD_{_role(other, everyone)}{other.index}"
        env |= {f"{name}_IP": its_place.address, f"{name}_HOST_IP": its_place.address}
        if other.group.resources.device.type == NPU:
            env[f"{name}_NPU_IP_LIST"] = _npu_ips(its_place)
    if place.device_ids:
        env["VISIBLE_IDS"] = ",".join(map(str, place.device_ids))
    if device.type == NPU:
        env["NPU_IPS"] = _npu_ips(place)
    return env


def _role(member: Member, everyone: tuple[Member, ...]) -> str:
    """Apulis' name for a role: `master` for the task of a job with only one."""
    return MASTER if len(everyone) == 1 else member.role


def _npu_ips(place: TaskPlacement) -> str:
    return ",".join(f"{number}:{ip}" for number, ip in zip(place.device_ids, device_ips(place), strict=True))


def _old_tables(job: JobSpec, job_id: str, placement: Placement) -> dict[str, str]:
    """Rank tables in the old shapes B and C, by file name; none with a device above 7, which these cannot describe."""
    ids = [number for place in placement.tasks for number in place.device_ids]
    if job.launch is not LaunchMode.ASCEND or max(ids) > LARGEST_OLD_DEVICE_ID:
        return {}
    table = build_table(job_id, placement)
    return {"hccl_ms.json": write_b(table), "hccl_tf.json": write_c(table)}


def _pod_env(env: Mapping[str, str]) -> str:
    """Text of /pod.env, which is read with `source`."""
    lines = [
        f"export {name}={shlex.quote(value)}"
        for name, value in sorted(env.items())
        if not name.startswith(NOT_IN_POD_ENV)
    ]
    return "\n".join([*lines, NUMBERS]) + "\n"


def _prologue(layout: Layout, *, job_id: str, tables: list[str]) -> list[str]:
    """Shell lines that set up the home folder as on Apulis. Rank tables are written atomically."""
    lines = [sudo.add_to_path(layout), NUMBERS, f'mkdir -p "$HOME/tensorboard/{job_id}/logs"']
    if tables:
        lines.append(f'mkdir -p "$HOME/.npu/{job_id}"')
    for table in tables:
        target = f"$HOME/.npu/{job_id}/{table.rpartition('/')[2]}"
        fresh = f"{target}.$DANLU_RANK"
        lines.append(f'cp {shlex.quote(table)} "{fresh}" && mv -f "{fresh}" "{target}"')
    return lines
