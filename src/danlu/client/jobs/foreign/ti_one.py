"""TI-ONE: the JSON of a CreateTrainingTask request."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Optional

from danlu.client.jobs.foreign.fields import Fields, pairs
from danlu.spec.paths import SCHEME

MODES = {
    "": "plain",
    "DDP": "ddp",
    "MPI": "mpi",
    "HOROVOD": "horovod",
    "PS_WORKER": "ps_worker",
    "SPARK": "plain",
    "RAY": "ray",
}
NOT_USED = [
    "ChargeType",
    "FrameworkName",
    "FrameworkVersion",
    "DataSource",
    "LogEnable",
    "LogConfig",
    "VpcId",
    "SubnetId",
    "Remark",
    "CallbackUrl",
    "Region",
    "RequestId",
]


def job(fields: Fields) -> dict[str, Any]:
    mode = fields.text("TrainingMode")
    if mode not in MODES:
        fields.reject("TrainingMode", f"one of {', '.join(name for name in MODES if name)}", got=mode)
    image = fields.object("ImageInfo")
    values = {
        "name": fields.text("Name"),
        "launch": MODES[mode],
        "contract": "tione",
        "framework": fields.text("FrameworkEnvironment"),
        "image": image.text("ImageUrl"),
        "project": fields.text("ResourceGroupId"),
        "tags": pairs(fields.objects("Tags"), key="TagKey", value="TagValue"),
        "code": _code(fields.object("CodePackagePath")),
        "data": _data(fields),
        "output": _path(fields.object("Output")),
        "hyperparameters": _parameters(fields),
        "retry": _retry(fields.object("SchedulePolicy")),
        **_machines(fields, _commands(fields)),
    }
    image.not_used(("ImageType", "ImageName", "ImageId", "RegistryRegion", "RegistryId"))
    fields.not_used(NOT_USED)
    return values


def _commands(fields: Fields) -> dict[str, str]:
    """Start commands, either plain or as JSON in base64, which the platform's SDK sends."""
    encoded = fields.object("EncodedStartCmdInfo").text("StartCmdInfo")
    plain = fields.object("StartCmdInfo")
    if encoded:
        try:
            plain = Fields(json.loads(base64.b64decode(encoded)), "EncodedStartCmdInfo")
        except (ValueError, binascii.Error):
            fields.reject("EncodedStartCmdInfo.StartCmdInfo", "JSON in base64", got=encoded)
    found = {name: plain.text(f"{name}StartCmd" if name else "StartCmd") for name in ("", "Worker", "Ps")}
    return {"worker": found["Worker"] or found[""], "ps": found["Ps"]}


def _machines(fields: Fields, commands: dict[str, str]) -> dict[str, Any]:
    groups = []
    for row in fields.objects("ResourceConfigInfos"):
        role = (row.text("Role") or "WORKER").lower()
        groups.append((role, {"count": row.number("InstanceNum", 1), **_shape(row)}))
        row.not_used(("InstanceTypeAlias", "RDMAConfig", "ArchType"))
    if any(role == "head" for role, _ in groups):
        return {"roles": _ray_roles(groups, commands["worker"])}
    roles = {role: {**group, "command": commands.get(role, "")} for role, group in groups}
    if "ps" in roles:
        return {"roles": roles}
    worker = next(iter(roles.values()), {"count": 1, "command": commands["worker"]})
    return {**{name: value for name, value in worker.items() if name != "count"}, "nodes": worker["count"]}


def _ray_roles(groups: list[tuple[str, dict[str, Any]]], command: str) -> dict[str, Any]:
    """Return the roles: the head runs the command, and every group of workers becomes a role."""
    workers = [group for role, group in groups if role != "head"]
    names = ["worker", *(f"worker{number}" for number in range(2, len(workers) + 1))]
    head = next(group for role, group in groups if role == "head")
    return {"launcher": {**head, "command": command}, **dict(zip(names, workers))}


def _shape(row: Fields) -> dict[str, Any]:
    flavor = row.text("InstanceType")
    cpu, memory, gpu = (row.number(name, 0) for name in ("Cpu", "Memory", "Gpu"))
    model = row.text("GpuType").lower()
    if flavor:
        return {"flavor": flavor}
    if gpu % 100:
        row.reject("Gpu", "whole devices, 100 for each", got=gpu)
    resources = {
        "cpus": cpu / 1000 or None,
        "memory": f"{memory}MiB" if memory else None,
        "device": ":".join(word for word in ("gpu", model, str(gpu // 100)) if word) if gpu else None,
    }
    return {"resources": {name: value for name, value in resources.items() if value is not None}}


def _path(fields: Fields) -> Optional[str]:
    bucket, paths = fields.text("Bucket"), fields.take("Paths", [])
    fields.not_used(("Region", "Uin", "SubUin"))
    if not bucket:
        return None
    if not isinstance(paths, list) or len(paths) > 1:
        fields.reject("Paths", "a list of one path", got=paths)
    return f"{SCHEME}{bucket}/{str(paths[0]).lstrip('/') if paths else ''}"


def _code(fields: Fields) -> dict[str, str]:
    path = _path(fields)
    return {"store": path} if path else {}


def _data(fields: Fields) -> dict[str, str]:
    found = {}
    for row in fields.objects("DataConfigs"):
        kind = row.text("DataSourceType") or "COS"
        if kind != "COS":
            row.reject("DataSourceType", "COS: jobs here read data from buckets", got=kind)
        found[_path(row.object("COSSource")) or ""] = row.text("MappingPath")
        row.not_used(("DataSourceUsage",))
    return found


def _parameters(fields: Fields) -> Any:
    text = fields.take("TuningParameters", "")
    try:
        return json.loads(text) if text else {}
    except (TypeError, ValueError):
        fields.reject("TuningParameters", "JSON as text", got=text)


def _retry(fields: Fields) -> dict[str, Any]:
    fields.not_used(("PriorityClass",))
    limit = fields.number("BackOffLimit", 0)
    return {"max": limit, "on": ["exit_code", "killed_by_signal", "out_of_memory", "lost"]} if limit else {}
