"""Apulis: the JSON that its submission form sends."""

from __future__ import annotations

from typing import Any

from danlu.client.jobs.foreign.fields import Fields, pairs

TYPES = {"": False, "RegularJob": False, "PSDistJob": True}
"""Job type -> whether it runs on several nodes."""

PROGRAMS = {"ssh": "ssh", "ipython": "jupyter", "tensorboard": "tensorboard"}
IMAGE_PASSWORD = "IMAGE_PASSWORD"
LOWEST_PRIORITY = 100
NOT_USED = [
    "userName",
    "userId",
    "jobType",
    "containerUserId",
    "hostNetwork",
    "isPrivileged",
    "numps",
    "familyToken",
    "isParent",
    "workPath",
    "dataPath",
    "jobPath",
    "enableworkpath",
    "enabledatapath",
    "enablejobpath",
    "logDir",
    "nodeSelector",
    "mountpoints",
]


def job(fields: Fields) -> dict[str, Any]:
    kind = fields.text("jobtrainingtype")
    if kind not in TYPES:
        fields.reject("jobtrainingtype", "RegularJob or PSDistJob", got=kind)
    nodes, count = fields.number("numpsworker", 1), fields.number("resourcegpu", 0)
    device = "npu" if "npu" in fields.text("gpuType").lower() else "gpu"
    launch = {"npu": "ascend", "gpu": "ddp" if TYPES[kind] else "plain"}[device] if count else "plain"
    framework = fields.text("frameworkType")
    values = {
        "name": fields.text("jobName"),
        "project": fields.text("vcName"),
        "command": fields.text("cmd"),
        "nodes": nodes if TYPES[kind] else 1,
        "launch": launch,
        "contract": "apulis",
        "resources": {"device": f"{device}:{count}"} if count else {},
        "preemptible": fields.truth("preemptionAllowed"),
        "priority": min(100, max(0, fields.number("jobPriority", LOWEST_PRIORITY + 50) - LOWEST_PRIORITY)),
        "image": fields.text("image"),
        "env": {
            **pairs(fields.objects("env"), key="name", value="value"),
            **({"aiframework": framework} if framework else {}),
        },
        "endpoints": _endpoints(fields),
        **_login(fields),
    }
    fields.not_used(NOT_USED)
    return values


def _endpoints(fields: Fields) -> list[str]:
    """Programs that Danlu has too, and ports. Others are reported as unused."""
    found = [word.strip() for word in fields.text("interactivePorts").split(",") if word.strip()]
    wanted = fields.take("endpoints", [])
    if not isinstance(wanted, list):
        fields.reject("endpoints", "a list", got=wanted)
    for one in wanted:
        if isinstance(one, dict) and "podPort" in one:
            found.append(str(one["podPort"]))
        elif one in PROGRAMS:
            found.append(PROGRAMS[one])
        else:
            fields.tell_unused(f"endpoints ({one})")
    return list(dict.fromkeys(found))


def _login(fields: Fields) -> dict[str, Any]:
    """Login for the first registry with a user name."""
    for row in fields.object("plugins").objects("imagePull"):
        row.not_used(("registry",))
        user, password = row.text("username"), row.text("password")
        if user:
            login = {"username": user, "secret": IMAGE_PASSWORD}
            return {"image_login": login, "secrets": {IMAGE_PASSWORD: password}}
    return {}
