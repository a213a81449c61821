"""`contract: modelarts`: the environment that code for ModelArts expects. User guide: docs/guide/ascend.md."""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Iterator
from typing import NoReturn

from danlu.errors import InvalidSpec
from danlu.launch import plain, sudo
from danlu.launch.additions import Additions
from danlu.launch.ascend import table_path
from danlu.launch.documented import Told
from danlu.launch.layout import Layout
from danlu.launch.owner import Owner
from danlu.launch.placement import Placement, TaskPlacement
from danlu.launch.plan import Gate
from danlu.spec.job import JobSpec, LaunchMode, Processes

USER = "ma-user"
HOME = f"/home/{USER}"
MOUNT_PATH = f"{HOME}/modelarts"
JOB_DIR = f"{MOUNT_PATH}/user-job-dir"
PRE_START = "ma-pre-start.sh"
OUTPUT_FLAG = "train_url"
RUN_METHOD = "MA_RUN_METHOD"
"""The only variable of ModelArts that a job may set: what starts the processes of a node, torchrun or msrun."""

_SCRIPTS = "code written for ModelArts"
STARTS = (
    "As on ModelArts: `ma-pre-start.sh` beside the boot file is read first, the boot file gets every hyperparameter as "
    "--name=value, and with `launch: ascend` it is started once for each card; the first that fails ends its node."
)
TOLD = {
    "HOME": Told("ma-user's home folder, the task's own", "every program"),
    "USER": Told("ma-user", "every program"),
    "LOGNAME": Told("ma-user", "every program"),
    "MA_HOME": Told("the home folder", _SCRIPTS),
    "MA_JOB_DIR": Told("the folder that the code folder, `code`, lies in", _SCRIPTS),
    "MA_MOUNT_PATH": Told("the folder above MA_JOB_DIR", _SCRIPTS),
    "MA_LOG_DIR": Told("where the logs of single processes are", _SCRIPTS),
    "MA_CURRENT_IP": Told("the address of this task", _SCRIPTS),
    "MA_CURRENT_HOST_IP": Told("the address of this task: it does not know the machine that it is on", _SCRIPTS),
    "MA_CURRENT_INSTANCE_NAME": Told("the name of this task", _SCRIPTS),
    "MA_NUM_GPUS": Told("devices of each task", _SCRIPTS),
    "MA_NUM_HOSTS": Told("how many tasks the job has", _SCRIPTS),
    "MA_ENGINE_VERSION": Told("the framework that the job names", _SCRIPTS),
    "MA_TASK_NAME": Told("the role of this task", _SCRIPTS),
    "MA_VJ_NAME": Told("the id of the job", _SCRIPTS),
    "MA_INPUTS": Told("the job's inputs, as JSON", _SCRIPTS),
    "MA_OUTPUTS": Told("the job's output, as JSON", _SCRIPTS),
    "VC_TASK_INDEX": Told("which task this is, from 0", _SCRIPTS),
    "VC_WORKER_NUM": Told("how many tasks the job has", _SCRIPTS),
    "VC_WORKER_HOSTS": Told("the host names of all tasks; the first is the master", _SCRIPTS),
    "BATCH_JOB_ID": Told("the id of the job", "code written for the first ModelArts"),
    "BATCH_TASK_INDEX": Told("which task this is, from 0", "code written for the first ModelArts"),
    "BATCH_TASK_CURRENT_INSTANCE": Told("the name of this task", "code written for the first ModelArts"),
    "BATCH_TASK_LOG_PATH": Told("where the logs of single processes are", "code written for the first ModelArts"),
}
FILES = dict(sudo.FILES)


def add(
    job: JobSpec, added: list[Additions], *, job_id: str, attempt: int, placement: Placement, owner: Owner
) -> list[Additions]:
    del attempt, owner  # not used by this contract
    boot_file = _check(job)
    result = []
    for place, before in zip(placement.tasks, added, strict=True):
        layout = Layout(place.root)
        pre_start = posixpath.normpath(posixpath.join(layout.code, posixpath.dirname(boot_file), PRE_START))
        passed = f"{layout.config}/.pre-start-done"
        result.append(
            before._replace(
                env={**before.env, **_environment(job, job_id=job_id, placement=placement, place=place, layout=layout)},
                files={**before.files, sudo.path(layout): sudo.TEXT},
                launcher=_launcher(job, placement, place) or before.launcher,
                arguments=tuple(_arguments(job, layout)),
                prologue="\n".join(_prologue(job, layout, place, pre_start=pre_start, passed=passed)),
                shell_name=pre_start,
                gates=(Gate(name=PRE_START, reason="pre_start_failed", passed=passed),),
                user=USER,
            )
        )
    return result


def _check(job: JobSpec) -> str:
    """Return the boot file. Raise InvalidSpec for jobs that ModelArts does not have."""
    if job.roles:
        _refuse("roles", "ModelArts starts one boot file everywhere; leave roles out")
    if not isinstance(job.command, tuple):
        _refuse(
            "command", "with contract: modelarts expected the words that start the boot file, such as python3 train.py"
        )
    boot_file = next((word for word in job.command if word.endswith(".py")), None)
    if boot_file is None:
        _refuse("command", f"none of the words {shlex.join(job.command)!r} is a boot file; one that ends with .py is")
    if posixpath.isabs(boot_file) or ".." in boot_file.split("/"):
        _refuse("command", f"the boot file {boot_file!r} has to be in the code folder; give its path from there")
    if job.launch is LaunchMode.ASCEND and job.processes is not Processes.PER_DEVICE:
        _refuse("processes", "ModelArts starts the boot file once for each card; expected 'per_device'")
    method = job.env.get(RUN_METHOD)
    if method is not None and (method not in _RUN_METHODS or job.launch is not LaunchMode.ASCEND):
        _refuse("env", f"{RUN_METHOD}: expected torchrun or msrun, with launch: ascend, got {method!r}")
    own = sorted(name for name in job.env if name.startswith("MA_") and name != RUN_METHOD)
    if own:
        _refuse(
            "env", f"{own[0]!r} cannot be set: names that begin with MA_ are the platform's with contract: modelarts"
        )
    return boot_file


def _environment(
    job: JobSpec, *, job_id: str, placement: Placement, place: TaskPlacement, layout: Layout
) -> dict[str, str]:
    device = job.resources.device
    host = plain.host_name(job_id, place.rank)
    logs = f"{layout.output}/logs"
    num_tasks = str(len(placement.tasks))
    inputs = [
        {"name": name, "local_dir": folder, "remote": {"obs": {"obs_url": source}}}
        for name, source, folder in _inputs(job, layout)
    ]
    outputs = [{"name": OUTPUT_FLAG, "local_dir": layout.output}]
    return {
        "HOME": HOME,
        "USER": USER,
        "LOGNAME": USER,
        "MA_HOME": HOME,
        "MA_JOB_DIR": JOB_DIR,
        "MA_MOUNT_PATH": MOUNT_PATH,
        "MA_LOG_DIR": logs,
        "MA_CURRENT_IP": place.address,
        "MA_CURRENT_HOST_IP": place.address,
        "MA_CURRENT_INSTANCE_NAME": host,
        "MA_NUM_GPUS": str(device.count if device.is_scarce else 0),
        "MA_NUM_HOSTS": num_tasks,
        **({"MA_ENGINE_VERSION": job.framework} if job.framework is not None else {}),
        "MA_TASK_NAME": "worker",
        "MA_VJ_NAME": job_id,
        "MA_INPUTS": json.dumps({"inputs": inputs}, ensure_ascii=False),
        "MA_OUTPUTS": json.dumps({"outputs": outputs}, ensure_ascii=False),
        "VC_TASK_INDEX": str(place.rank),
        "VC_WORKER_NUM": num_tasks,
        "VC_WORKER_HOSTS": ",".join(plain.host_name(job_id, other.rank) for other in placement.tasks),
        "BATCH_JOB_ID": job_id,
        "BATCH_TASK_INDEX": str(place.rank),
        "BATCH_TASK_CURRENT_INSTANCE": host,
        "BATCH_TASK_LOG_PATH": logs,
    }


def _torchrun(placement: Placement, place: TaskPlacement) -> tuple[str, ...]:
    return (
        *("python3", "-m", "torch.distributed.run", f"--nnodes={len(placement.tasks)}", f"--node_rank={place.rank}"),
        f"--nproc_per_node={len(place.device_ids)}",
        *(f"--master_addr={placement.tasks[0].address}", f"--master_port={placement.master_port}", "--no-python"),
    )


def _msrun(placement: Placement, place: TaskPlacement) -> tuple[str, ...]:
    num_processes = sum(len(each.device_ids) for each in placement.tasks)
    return (
        *("msrun", f"--worker_num={num_processes}", f"--local_worker_num={len(place.device_ids)}"),
        *(f"--node_rank={place.rank}", f"--master_addr={placement.tasks[0].address}"),
        *(f"--master_port={placement.master_port}", "--join=True"),
    )


_RUN_METHODS = {"torchrun": _torchrun, "msrun": _msrun}


def _launcher(job: JobSpec, placement: Placement, place: TaskPlacement) -> tuple[str, ...]:
    """What starts a process per device instead of Danlu's launcher, if the job sets MA_RUN_METHOD; else empty."""
    method = job.env.get(RUN_METHOD)
    return () if method is None else _RUN_METHODS[method](placement, place)


def _inputs(job: JobSpec, layout: Layout) -> Iterator[tuple[str, str, str]]:
    """(name, source, folder) of the inputs whose target is a single word, such as `data_url`."""
    for source, target in job.data.items():
        if "/" not in target and not target.startswith("."):
            yield target, source, layout.in_data(target)


def _arguments(job: JobSpec, layout: Layout) -> Iterator[str]:
    """Arguments of the boot file. A hyperparameter takes precedence over a folder of the same name."""
    folders = {name: folder for name, _, folder in _inputs(job, layout)} | {OUTPUT_FLAG: layout.output}
    for name, folder in folders.items():
        if name not in job.hyperparameters:
            yield f"--{name}={folder}"
    for name, value in job.hyperparameters.items():
        yield f"--{name}={_text(value)}"


def _text(value: object) -> str:
    """A value as an argument: texts unchanged, True, False and None as in Python, the rest as JSON."""
    if isinstance(value, bool) or value is None:
        return str(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _prologue(job: JobSpec, layout: Layout, place: TaskPlacement, *, pre_start: str, passed: str) -> Iterator[str]:
    """Shell lines that create ModelArts' fixed paths, and run the user's pre-start script.

    Not `. script || exit`, because the shell ignores `set -e` in commands before `||`.
    """
    yield sudo.add_to_path(layout)
    yield f"mkdir -p {MOUNT_PATH} && ln -sfn {shlex.quote(layout.root)} {JOB_DIR}"
    if job.launch is LaunchMode.ASCEND:
        table = f"{HOME}/rank_table"
        yield f"mkdir -p {table} && ln -sfn {shlex.quote(table_path(place))} {table}/jobstart_hccl.json"
    script = shlex.quote(pre_start)
    yield f"if [ -f {script} ]; then\n. {script}\nstatus=$?\n[ $status = 0 ] || exit $status\nset +e\nfi"
    yield f": > {shlex.quote(passed)}"


def _refuse(field: str, problem: str) -> NoReturn:
    raise InvalidSpec(f"invalid job: {field}: {problem}", fields={field: problem})
