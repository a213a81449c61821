"""Convert the arguments of `create_training_task` to a Danlu job. Sends nothing."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Optional, TypeVar, Union, cast

from danlu.spec.paths import SCHEME
from tikit.models import CosPathInfo, FrameworkInfo, ResourceConfigInfo, TrainingDataConfig
from tikit.session import refuse
from tikit.tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException

F = TypeVar("F", bound=Callable[..., Any])
DataConfigs = Union[TrainingDataConfig, Sequence[TrainingDataConfig], None]
CosPlace = Union[str, CosPathInfo, None]

MODES = {
    "": "plain",
    "DDP": "ddp",
    "MPI": "mpi",
    "HOROVOD": "horovod",
    "PS_WORKER": "ps_worker",
    "SPARK": "plain",
    "RAY": "ray",
}
RAY = "RAY"
ALL_MODES = ["PS_WORKER", "DDP", "MPI", "HOROVOD", "SPARK", RAY]
RESTARTED = ["exit_code", "killed_by_signal", "out_of_memory", "lost", "start_failed"]
"""Reasons after which a task is restarted."""

REMARK, FRAMEWORK_NAME = "TI_TASK_REMARK", "TI_FRAMEWORK_NAME"
"""Variables for values that a Danlu job has no field for."""

IMAGE_PASSWORD = "TI_IMAGE_PASSWORD"
OLD_ORDER = [
    "name",
    "framework",
    "cos_output",
    "worker_resource",
    "code_package_path",
    "ps_resource",
    "input_data_config",
    "worker_start_cmd",
    "ps_start_cmd",
    "tags",
    "tuning_parameters_dict",
    "resource_group_id",
    "remark",
    "log_enable",
    "log_logset_id",
    "log_topic_id",
    "vpc_id",
    "sub_net_id",
]
"""Positional arguments of `create_training_task` in the version of 2022."""


class BadDataConfig(TencentCloudSDKException, AssertionError):
    """An unusable data config. AssertionError, too, because the original raises it for some of them."""


class TrainingTask(NamedTuple):
    """The arguments that are used."""

    name: str
    framework: FrameworkInfo
    worker_resource: Optional[ResourceConfigInfo]
    worker_start_cmd: str
    cos_output: CosPlace = None
    code_package_path: CosPlace = None
    ps_resource: Optional[ResourceConfigInfo] = None
    ps_start_cmd: Optional[str] = None
    head_resource: Optional[ResourceConfigInfo] = None
    worker_resource_group: Sequence[ResourceConfigInfo] = ()
    input_data_config: DataConfigs = None
    tags: Optional[Sequence[Any]] = None
    tuning_parameters: Optional[dict[str, Any]] = None
    resource_group_id: str = ""
    remark: Optional[str] = None
    restart_limit: int = 0


def takes_old_order(function: F) -> F:
    """Decorate `create_training_task` to accept the argument order of 2022 too, detected by types."""

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_old(args):
            return function(self, *args, **kwargs)
        named = dict(zip(OLD_ORDER, args))
        twice = sorted(set(named) & set(kwargs))
        if twice:
            raise TypeError(f"create_training_task() got multiple values for argument {twice[0]!r}")
        return function(self, **named, **kwargs)

    return cast("F", call)


def job_of(task: TrainingTask) -> dict[str, Any]:
    """Return the fields of the job. Raises TencentCloudSDKException for invalid and unsupported arguments."""
    check(task)
    framework, mode = task.framework, MODES[task.framework.TrainingMode or ""]
    env = {FRAMEWORK_NAME: framework.Name, **({REMARK: task.remark} if task.remark else {})}
    values: dict[str, Any] = {
        "name": task.name,
        "launch": mode,
        "contract": "tione",  # scripts of that time have --local_rank
        "env": env,
        "tags": tag_dict(task.tags),
        "data": data_of(task.input_data_config),
        "hyperparameters": dict(task.tuning_parameters or {}),
        **_environment(framework),
        **_machines(task),
    }
    if task.cos_output:
        values["output"] = store_path(task.cos_output)
    if task.code_package_path:
        values["code"] = {"store": store_path(task.code_package_path)}
    if task.resource_group_id:
        values["project"] = task.resource_group_id
    if task.restart_limit:
        values["retry"] = {"max": task.restart_limit, "on": RESTARTED}
    return values


def check(task: TrainingTask) -> None:
    """Reject what the original rejects, with its messages, as scripts may parse them."""
    mode, ps = task.framework.TrainingMode, task.ps_resource
    if mode and mode not in ALL_MODES:
        raise refuse(f"TrainingMode: expected one of {', '.join(ALL_MODES)}, got {mode!r}")
    if not 0 <= task.restart_limit <= 10:
        raise refuse(f"restart_limit: expected 0 to 10, got {task.restart_limit}")
    if mode == RAY:
        _check_ray(task)
        return
    if task.head_resource is not None or task.worker_resource_group:
        raise refuse(f"head_resource, worker_resource_group: expected none in the mode {mode}; these are for RAY")
    if task.worker_resource is None:
        raise refuse("worker_resource: expected models.ResourceConfigInfo, got None")
    if mode == "PS_WORKER" and (ps is None or not task.ps_start_cmd):
        raise refuse("PS_WORKER needs ps_resource and ps_start_cmd")
    if ps is not None and mode != "PS_WORKER":
        raise refuse(f"ps_resource: expected none in the mode {mode}; only PS_WORKER has parameter servers")
    if ps is not None and ps.ChargeType != task.worker_resource.ChargeType:
        raise refuse(f"ps_resource: expected ChargeType {task.worker_resource.ChargeType}, got {ps.ChargeType}")
    num = task.worker_resource.InstanceNum
    if mode == "SPARK" and num not in (None, 1):
        raise refuse(f"worker_resource: SPARK runs on one node, got InstanceNum {num}")


def _check_ray(task: TrainingTask) -> None:
    head = task.head_resource
    if head is None:
        raise refuse("head_resource: expected models.ResourceConfigInfo in the mode RAY, got None")
    if head.InstanceNum not in (None, 1):
        raise refuse(f"head_resource: RAY has one head, got InstanceNum {head.InstanceNum}")
    if task.worker_resource is not None and task.worker_resource_group:
        raise refuse("worker_resource, worker_resource_group: expected one of them, got both")
    if task.ps_resource is not None:
        raise refuse("ps_resource: expected none in the mode RAY; only PS_WORKER has parameter servers")


def data_of(configs: DataConfigs) -> dict[str, str]:
    """Return store path -> path in the job."""
    found: dict[str, str] = {}
    for config in [configs] if isinstance(configs, TrainingDataConfig) else configs or ():
        if not isinstance(config, TrainingDataConfig):
            raise BadDataConfig(None, f"input_data_config: expected TrainingDataConfig, got {type(config).__name__}")
        for source, target in config.DataConfigDict.items():
            if config.DataSource != "COS":
                what = f"{config.DataSource} {config.Details.get('id', '')} {source}".replace("  ", " ")
                raise BadDataConfig(
                    "UnsupportedOperation",
                    f"input_data_config: {what}: tasks here read data from buckets only; upload it with upload_to_cos "
                    "and use TrainingDataConfig.new_mount_cos",
                )
            found[store_path(source)] = target
    return found


def store_path(place: Union[str, CosPathInfo, Any]) -> str:
    """Return a store path for `"<bucket>/<path>"`, or for an object with Bucket and Path or Paths."""
    if isinstance(place, str):
        bucket, slash, path = place.removeprefix(SCHEME).partition("/")
        if not bucket or not slash:
            raise refuse(f'cos string {place!r} is not invalid, should be "<bucket>/<cos path>"')
        return f"{SCHEME}{bucket}/{path.lstrip('/')}"
    path = getattr(place, "Path", None) or next(iter(getattr(place, "Paths", None) or [""]))
    return f"{SCHEME}{place.Bucket}/{path.lstrip('/')}"


def tag_dict(tags: Optional[Sequence[Any]]) -> dict[str, str]:
    """Convert tags, given as objects or dicts, to a mapping."""
    return dict(
        (tag["TagKey"], tag.get("TagValue") or "") if isinstance(tag, dict) else (tag.TagKey, tag.TagValue or "")
        for tag in tags or ()
    )


def _environment(framework: FrameworkInfo) -> dict[str, Any]:
    if framework.FrameworkEnvironment:
        return {"framework": framework.FrameworkEnvironment}
    if not framework.ImageUrl:
        return {}
    login = framework.UserName and framework.Passwd
    return {
        "image": framework.ImageUrl,
        **({"image_login": {"username": framework.UserName, "secret": IMAGE_PASSWORD}} if login else {}),
        **({"secrets": {IMAGE_PASSWORD: framework.Passwd}} if login else {}),
    }


def _machines(task: TrainingTask) -> dict[str, Any]:
    if task.head_resource is not None:
        return {"roles": _ray_roles(task, task.head_resource)}
    assert task.worker_resource is not None
    worker, num = _shape(task.worker_resource), task.worker_resource.InstanceNum or 1
    if task.ps_resource is None:
        return {"command": task.worker_start_cmd, "nodes": num, **worker}
    ps = {"command": task.ps_start_cmd, "count": task.ps_resource.InstanceNum or 1, **_shape(task.ps_resource)}
    return {"roles": {"worker": {"command": task.worker_start_cmd, "count": num, **worker}, "ps": ps}}


def _ray_roles(task: TrainingTask, head: ResourceConfigInfo) -> dict[str, Any]:
    """Return the roles: the head runs the command; each group of workers is a role."""
    workers = task.worker_resource_group or [one for one in (task.worker_resource,) if one is not None]
    names = ["worker", *(f"worker{number}" for number in range(2, len(workers) + 1))]
    groups = {name: {"count": one.InstanceNum or 1, **_shape(one)} for name, one in zip(names, workers)}
    return {"launcher": {"command": task.worker_start_cmd, "count": 1, **_shape(head)}, **groups}


def _shape(config: ResourceConfigInfo) -> dict[str, Any]:
    if config.InstanceType:
        return {"flavor": config.InstanceType}
    resources: dict[str, Any] = {}
    if config.Cpu:
        resources["cpus"] = config.Cpu / 1000
    if config.Memory:
        resources["memory"] = f"{config.Memory}MiB"
    if config.Gpu:
        if config.Gpu % 100:
            raise refuse(f"gpu: expected whole devices, got {config.Gpu / 100:g}")
        kind = (config.GpuType or "").lower()
        device = "npu" if any(word in kind for word in ("npu", "ascend", "910", "310")) else "gpu"
        model = kind if kind not in ("", "gpu", "npu") else ""
        resources["device"] = ":".join(word for word in (device, model, str(config.Gpu // 100)) if word)
    return {"resources": resources} if resources else {}


def _is_old(args: Sequence[Any]) -> bool:
    sixth, seventh, eighth, ninth = [*args[5:9], None, None, None, None][:4]
    is_data = isinstance(seventh, TrainingDataConfig) or (
        isinstance(seventh, (list, tuple)) and any(isinstance(one, TrainingDataConfig) for one in seventh)
    )
    return isinstance(sixth, ResourceConfigInfo) or is_data or isinstance(eighth, str) or isinstance(ninth, str)


def as_text(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, default=str)
