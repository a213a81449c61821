"""Convert requests of TI-ONE's API about tasks to arguments of tikit's calls."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

from tikit import models
from tikit.logs import MAX_LINES
from tikit.session import refuse

if TYPE_CHECKING:
    from tikit.client import Client

Values = Mapping[str, Any]
SOURCES = {
    "DATASET": "DataSetSource",
    "CFS": "CFSSource",
    "CFSTurbo": "CFSTurboSource",
    "HDFS": "HDFSSource",
    "WEDATA_HDFS": "WeDataHDFSSource",
    "GooseFS": "GooseFSSource",
    "GooseFSx": "GooseFSSource",
    "AIMarket_Algo_PreModel": "AIMarketAlgoPreModelSource",
    "AIMarket_Algo_Data": "AIMarketAlgoDataSource",
}
"""Type of an unsupported data source -> the field that describes it."""


def create_training_task(client: Client, values: Values) -> Any:
    every = list(values.get("ResourceConfigInfos") or ())
    rows = {str(row.get("Role") or "WORKER"): row for row in every}
    charge = values.get("ChargeType") or models.POSTPAID
    worker = rows.get("WORKER") or rows.get("DRIVER")
    head = rows.get("HEAD")
    groups = [row for row in every if row.get("Role") == "WORKER"] if head is not None else []
    if worker is None and head is None:
        raise refuse(f"ResourceConfigInfos: expected one with the Role WORKER, got {', '.join(rows) or 'none'}")
    commands = _commands(values)
    return client.create_training_task(
        values.get("Name") or "",
        _framework(values),
        cos_str(values.get("Output")),
        None if worker is None or head is not None else _machines(worker, charge),
        code_package_path=cos_str(values.get("CodePackagePath")),
        code_repos=values.get("CodeRepos"),
        ps_resource=_machines(rows["PS"], charge) if "PS" in rows else None,
        head_resource=None if head is None else _machines(head, charge),
        worker_resource_group=[_machines(row, charge) for row in groups],
        input_data_config=[_data(row) for row in values.get("DataConfigs") or ()],
        worker_start_cmd=commands.get("WorkerStartCmd") or commands.get("StartCmd"),
        ps_start_cmd=commands.get("PsStartCmd"),
        tags=values.get("Tags"),
        tuning_parameters_dict=_parameters(values.get("TuningParameters")),
        resource_group_id=values.get("ResourceGroupId") or "",
        remark=values.get("Remark"),
        restart_limit=(values.get("SchedulePolicy") or {}).get("BackOffLimit") or 0,
    )


def describe_logs(client: Client, values: Values) -> Any:
    if values.get("Service") not in (None, "TRAIN"):
        raise refuse(f"Service: expected TRAIN, got {values['Service']!r}", UNSUPPORTED)
    pod = values.get("PodName")
    if not pod:  # save_log sends the newest instance of a task: its id and a number
        instance = str(values.get("ServiceId") or "")
        pod = f"{instance.rpartition('-')[0] if instance.count('-') > 1 else instance}*"
    limit = values.get("Limit")
    return client.describe_train_logs(
        pod,
        values.get("StartTime"),
        values.get("EndTime"),
        None if limit is None else min(int(limit), MAX_LINES),
        values.get("Order"),
        values.get("Context"),
        values.get("Filters"),
    )


def cos_str(place: Optional[Values]) -> Optional[str]:
    """Return `"<bucket>/<path>"` for an object with Bucket and Paths."""
    if not place or not place.get("Bucket"):
        return None
    paths = place.get("Paths") or [""]
    if len(paths) > 1:
        raise refuse(f"Paths: expected one path, got {len(paths)}")
    return f"{place['Bucket']}/{str(paths[0]).lstrip('/')}"


UNSUPPORTED = "UnsupportedOperation"


def _framework(values: Values) -> models.FrameworkInfo:
    mode, image = values.get("TrainingMode") or "", values.get("ImageInfo") or {}
    if not image.get("ImageUrl"):
        return models.FrameworkInfo.new_system_framework(
            values.get("FrameworkName") or "", values.get("FrameworkEnvironment") or "", mode
        )
    if image.get("ImageSecret"):
        raise refuse(
            "ImageSecret: a registry's password is not taken here; use tikit of danlu-compat, or a job file with "
            "image_login",
            UNSUPPORTED,
        )
    return models.FrameworkInfo.new_custom(mode, image.get("ImageType") or "CUSTOM", image["ImageUrl"])


def _machines(row: Values, charge: str) -> models.ResourceConfigInfo:
    names = ("InstanceType", "InstanceNum", "Cpu", "Memory", "GpuType", "Gpu")
    return models.ResourceConfigInfo(charge, *(row.get(name) for name in names))


def _commands(values: Values) -> Values:
    """Return the commands, given plainly or as JSON in base64, as the SDK sends them."""
    encoded = (values.get("EncodedStartCmdInfo") or {}).get("StartCmdInfo")
    if not encoded:
        return values.get("StartCmdInfo") or {}
    try:
        found = json.loads(base64.b64decode(encoded, validate=True))
    except (ValueError, binascii.Error) as error:
        raise refuse("EncodedStartCmdInfo.StartCmdInfo: expected JSON in base64") from error
    return found if isinstance(found, dict) else {}


def _data(row: Values) -> models.TrainingDataConfig:
    kind, target = row.get("DataSourceType") or "COS", row.get("MappingPath") or ""
    if kind in ("COS", "COSFS"):
        return models.TrainingDataConfig.new_mount_cos(cos_str(row.get("COSSource")) or "", target)
    source = row.get(SOURCES.get(kind, "")) or {}
    config = models.TrainingDataConfig()
    config.DataSource, config.DataConfigDict = kind, {str(source.get("Path") or ""): target}
    config.Details = {"id": source.get("Id") or ""}
    return config


def _parameters(text: Any) -> dict[str, Any]:
    found = json.loads(text) if text else {}
    if not isinstance(found, dict):
        raise refuse(f"TuningParameters: expected an object as JSON, got {text!r}")
    return found
