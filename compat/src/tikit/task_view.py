"""Danlu jobs as the objects that tikit returns."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Optional

from danlu.spec.devices import CPU, DeviceRequest
from danlu.spec.job import JobSpec, LaunchMode, Resources, stored_job
from danlu.spec.paths import parse_store_path
from danlu.spec.roles import LAUNCHER, groups
from danlu.spec.states import JobState, TaskState, is_live
from danlu.wire.jobs import AttemptOut, JobOut, JobSummary
from tikit.task_spec import FRAMEWORK_NAME, REMARK, as_text
from tikit.tencentcloud.tione.v20211111 import models as wire

STATES = {
    JobState.QUEUED: "PENDING",
    JobState.STARTING: "STARTING",
    JobState.RUNNING: "RUNNING",
    JobState.STOPPING: "STOPPING",
    JobState.PAUSED: "STOPPED",
    JobState.SUCCEEDED: "SUCCEED",
    JobState.FAILED: "FAILED",
    JobState.STOPPED: "STOPPED",
}
POD_STATES = {
    TaskState.STARTING: "PENDING",
    TaskState.STAGING: "PENDING",
    TaskState.RUNNING: "RUNNING",
    TaskState.UPLOADING: "RUNNING",
    TaskState.SUCCEEDED: "SUCCEEDED",
    TaskState.FAILED: "FAILED",
    TaskState.STOPPED: "TERMINATED",
    TaskState.LOST: "FAILED",
}
TRAINING_MODES = {"ddp": "DDP", "mpi": "MPI", "horovod": "HOROVOD", "ps_worker": "PS_WORKER", "ray": "RAY", "plain": ""}
ROLES = {"worker": "WORKER", "ps": "PS", "launcher": "LAUNCHER"}


def item(job: JobOut) -> wire.TrainingTaskSetItem:
    found = _common(job)
    charge = found["ChargeType"]
    return wire.TrainingTaskSetItem.new(
        **found,
        ResourceGroupSWType="NONE" if charge == "POSTPAID_BY_HOUR" else "NORMAL",
        TaskType="TRAIN",
    )


def detail(job: JobOut, region: str) -> wire.TrainingTaskDetail:
    spec = stored_job(job.spec)
    code = spec.code.store if spec.code is not None else None
    data = [
        wire.DataConfig.new(MappingPath=target, DataSourceType="COS", COSSource=cos_path(source, region))
        for source, target in spec.data.items()
    ]
    return wire.TrainingTaskDetail.new(
        **_common(job, region),
        Region=region,
        CodePackagePath=cos_path(code, region) if code else None,
        StartCmdInfo=_commands(spec),
        DataSource="COS" if data else None,
        DataConfigs=data,
        TuningParameters=as_text(spec.hyperparameters),
        LogEnable=True,
        LatestInstanceId=f"{job.id}-{job.attempt}" if job.attempt else None,
        Remark=spec.env.get(REMARK),
        SchedulePolicy=wire.SchedulePolicy.new(PriorityClass=str(spec.priority), BackOffLimit=spec.retry.max),
        CodeRepos=[],
    )


def pods(job: JobOut) -> list[wire.PodInfo]:
    """Return the tasks of the newest attempt."""
    if not job.attempts:
        return []
    spec, attempt = stored_job(job.spec), job.attempts[-1]
    shapes = {group.role: group.resources for group in groups(spec)}
    names = pod_names(job)
    return [
        wire.PodInfo.new(
            Name=names[task.rank],
            IP="",
            Status=POD_STATES[task.state],
            Url="",
            StartTime=moment(task.started_at),
            EndTime=moment(task.ended_at),
            ResourceConfigInfo=_config(_role(spec, task.role), shapes[task.role], None, 1),
            GpuNames=[],
            Gpus=[wire.GpuInfo.new(GpuName=f"{names[task.rank]}-{number}") for number in task.device_ids],
            NodeId=task.node,
        )
        for task in attempt.tasks
    ]


def pod_names(job: JobOut) -> dict[int, str]:
    """Return rank -> pod name, which is the host name in NODE_LIST."""
    found: dict[int, str] = {}
    for group in groups(stored_job(job.spec)):
        for index in range(group.count):
            found[len(found)] = f"{job.id}-{group.role}-{index}"
    return found


def moment(at: Optional[datetime]) -> Optional[str]:
    return None if at is None else at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def updated_at(job: JobSummary) -> datetime:
    return max(at for at in (job.created_at, job.started_at, job.ended_at) if at is not None)


def status(job: JobSummary) -> str:
    return STATES[job.state]


def tag_list(tags: dict[str, str]) -> list[wire.Tag]:
    return [wire.Tag.new(TagKey=key, TagValue=value) for key, value in tags.items()]


def cos_path(path: str, region: str) -> wire.CosPathInfo:
    where = parse_store_path(path)
    return wire.CosPathInfo.new(Bucket=where.bucket, Region=region, Paths=[where.key])


def _common(job: JobOut, region: str = "") -> dict[str, Any]:
    """Return the attributes common to list entries and details of a task."""
    spec, running = stored_job(job.spec), is_live(job.state)
    where = parse_store_path(job.output)
    flavors = [spec.flavor, *(role.flavor for role in spec.roles.values())]
    return {
        "Id": job.id,
        "Name": job.name,
        "Uin": job.owner,
        "SubUin": job.owner,
        "SubUinName": job.owner,
        "FrameworkName": spec.env.get(FRAMEWORK_NAME) or (_family(job) if spec.framework else "CUSTOM"),
        "FrameworkVersion": job.framework.title if job.framework is not None else "",
        "FrameworkEnvironment": spec.framework or "",
        "ChargeType": "POSTPAID_BY_HOUR" if any(flavors) else "PREPAID",
        "ChargeStatus": "BILLING" if running and job.price_per_hour is not None else "NOT_BILLING",
        "ResourceGroupId": job.project,
        "ResourceGroupName": job.project,
        "ResourceConfigInfos": _configs(spec),
        "TrainingMode": TRAINING_MODES.get(str(spec.launch), str(spec.launch).upper()),
        "Status": status(job),
        "RuntimeInSeconds": _runtime(job.attempts),
        "CreateTime": moment(job.created_at),
        "StartTime": moment(job.started_at),
        "EndTime": moment(job.ended_at),
        "UpdateTime": moment(updated_at(job)),
        "StartScheduleTime": moment(job.created_at),
        # without the task id, which scripts append, as in the original
        "Output": wire.CosPathInfo.new(
            Bucket=where.bucket, Region=region, Paths=[where.key.removesuffix("/").rpartition("/")[0] + "/"]
        ),
        "FailureReason": job.reason.message if job.state is JobState.FAILED else "",
        "Message": job.reason.message,
        "BillingInfo": f"{job.cost} {job.currency}" if job.cost is not None else "",
        "ImageInfo": wire.ImageInfo.new(ImageType="CUSTOM" if spec.image else "SYSTEM", ImageUrl=spec.image or ""),
        "Tags": tag_list(job.tags),
        "CallbackUrl": "",
        "Warnings": [wire.Warning.new(Reason="", Message=note) for note in job.notes],
    }


def _family(job: JobOut) -> str:
    return family(job.framework.title, job.framework.name) if job.framework is not None else "CUSTOM"


def family(title: str, name: str) -> str:
    """Return the framework family: `PYTORCH` for the title `PYTORCH 1.9`; without a title, the framework's name."""
    words = title.split()
    return words[0].upper() if words else name


def _commands(spec: JobSpec) -> wire.StartCmdInfo:
    def text(command: Any) -> str:
        return command if isinstance(command, str) else " ".join(command or ())

    roles = {name: text(role.command) for name, role in spec.roles.items()}
    return wire.StartCmdInfo.new(
        StartCmd=text(spec.command) if not roles else "",
        PsStartCmd=roles.get("ps", ""),
        WorkerStartCmd=roles.get("worker") or roles.get("launcher", ""),
    )


def _configs(spec: JobSpec) -> list[wire.ResourceConfigInfo]:
    if spec.roles:
        return [
            _config(_role(spec, name), role.resources, role.flavor, role.count) for name, role in spec.roles.items()
        ]
    return [_config("WORKER", spec.resources, spec.flavor, spec.nodes)]


def _role(spec: JobSpec, name: str) -> str:
    if spec.launch is LaunchMode.RAY:
        return "HEAD" if name == LAUNCHER else "WORKER"
    return ROLES.get(name, name.upper())


def _config(role: str, resources: Resources, flavor: Optional[str], count: int) -> wire.ResourceConfigInfo:
    return wire.ResourceConfigInfo.new(
        Role=role,
        Cpu=int((resources.cpus or 0) * 1000),
        Memory=(resources.memory or 0) >> 20,
        GpuType=device_model(resources.device),
        Gpu=num_devices(resources.device) * 100,
        InstanceType=flavor or "",
        InstanceNum=count,
        InstanceTypeAlias=flavor or "",
    )


def num_devices(device: DeviceRequest) -> int:
    return 0 if device.type == CPU else device.count


def device_model(device: DeviceRequest) -> str:
    return "" if device.type == CPU else (device.model or device.type).upper()


def _runtime(attempts: list[AttemptOut]) -> int:
    now = datetime.now(timezone.utc)
    spans = [((attempt.ended_at or now) - attempt.started_at) for attempt in attempts if attempt.started_at is not None]
    return int(sum(span.total_seconds() for span in spans))
