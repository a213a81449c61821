"""ModelArts: the session configuration of its first and second SDK, as JSON."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from danlu.client.jobs.foreign.fields import Fields, pairs
from danlu.spec.paths import SCHEME

_CARDS = re.compile(r"modelarts\.kat1\.([1248]?)xlarge")
NOT_USED = [
    "framework_type",
    "framework_version",
    "pool_id",
    "log_url",
    "nas_type",
    "nas_share_addr",
    "nas_mount_path",
    "job_description",
    "job_description_prefix",
    "working_dir",
]


def job(fields: Fields) -> dict[str, Any]:
    code, boot = fields.text("code_dir"), fields.text("boot_file")
    if code and boot and not boot.startswith(code):
        fields.reject("boot_file", f"a file below {code}", got=boot)
    hyperparameters = {
        **pairs(fields.objects("hyperparameters"), key="label", value="value"),
        **pairs(fields.objects("parameters"), key="name", value="value"),
    }
    inputs, output = fields.text("inputs"), fields.text("output_path") or fields.text("out_base_url")
    values = {
        "name": fields.text("job_name"),
        "command": _command(fields, posixpath.relpath(boot, code) if code and boot else boot),
        "nodes": fields.number("train_instance_count", 1),
        "launch": "ascend",
        "processes": "per_device",
        "contract": "modelarts",
        "resources": {"device": f"npu:{_cards(fields)}"},
        "hyperparameters": hyperparameters,
        "code": {"store": _path(code)} if code else {},
        "data": {_path(inputs): "data_url"} if inputs else {},
        "output": _path(output) if output else "",
        "env": {name: str(value) for name, value in fields.take("env_variables", {}).items()},
        "image": fields.text("user_image_url"),
    }
    fields.not_used(NOT_USED)
    fields.not_used(("out_base_url",))
    return values


def _command(fields: Fields, boot: str) -> Any:
    return fields.text("user_command") or (["python3", "-u", boot] if boot else None)


def _cards(fields: Fields) -> int:
    kind = fields.text("train_instance_type")
    found = _CARDS.fullmatch(kind)
    if kind and found is None:
        fields.reject("train_instance_type", "modelarts.kat1.xlarge, .2xlarge, .4xlarge or .8xlarge", got=kind)
    return int(found.group(1) or 1) if found is not None else 8


def _path(path: str) -> str:
    """`/bucket/folder/`, `obs://bucket/folder/` and `s3://...` as a path of the store."""
    return f"{SCHEME}{re.sub('^(obs|s3)://', '', path).lstrip('/')}"
