"""Server side of tikit: answers actions of TI-ONE's API that Tencent Cloud's SDK sends to a Danlu server, by calls of
this package. The server checks the sender (`danlu.server.tencent`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Callable

from danlu.client import Client as DanluClient
from danlu.errors import NotFound
from tikit import door_tasks
from tikit.client import ELSEWHERE, Client
from tikit.door_models import create_training_model
from tikit.session import refuse
from tikit.tencentcloud.common.abstract_model import AbstractModel
from tikit.tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException

log = logging.getLogger(__name__)

VERSION = "2021-11-11"
Values = Mapping[str, Any]
Action = Callable[[Client, Values], Any]


def answer(action: str, values: Values, *, url: str, api_key: str, region: str) -> dict[str, Any]:
    """Return the content of `Response`; for a failure `{"Error": {"Code", "Message"}}`."""
    make = ACTIONS.get(action)
    if make is None:
        return _error("InvalidAction", f"{action}: not an action that is served here{_instead(action)}")
    with DanluClient(url=url, api_key=api_key) as danlu:
        try:
            found = make(Client.of(danlu, region), values)
        except TencentCloudSDKException as error:
            return _error(error.code or "InvalidParameterValue", error.message or "")
        except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
            log.warning("%s: %r cannot be read: %s: %s", action, dict(values), type(error).__name__, error)
            return _error("InvalidParameter", f"{action}: expected the fields of {VERSION}, got others: {error}")
    plain = found._serialize(allow_none=True) if isinstance(found, AbstractModel) else dict(found)
    return {name: value for name, value in plain.items() if name != "RequestId"}


def _error(code: str, message: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": message}}


def _instead(action: str) -> str:
    """Return the alternative to an unsupported action, as text."""
    words = action.replace("_", "").lower()
    told = next((told for word, told in ELSEWHERE.items() if word.replace("_", "") in words), None)
    return f"; {told}" if told else ""


def _task_id(client: Client, values: Values, name: str = "Id") -> str:
    """Return the id of a task. The SDK's save_log passes the id of the task's newest instance."""
    given = str(values[name])
    try:
        return client._danlu.jobs.get(given).id
    except NotFound:
        base = given.rpartition("-")[0]
        return base if base.count("-") == 1 else given


def _specs(client: Client, values: Values) -> Any:
    is_inference = values.get("TaskType") == "INFERENCE"
    ask = client.describe_postpaid_reasoning_price if is_inference else client.describe_postpaid_training_price
    found = ask()
    for spec in found.Specs:
        spec.SpecId = spec.SpecName  # prices have their own action
    return found


def _prices(client: Client, values: Values) -> dict[str, Any]:
    """Prices in hundredths of the currency."""
    prices = {one.SpecName: float(one.SpecId) for one in client.describe_postpaid_training_price().Specs}
    rows = []
    for one in values.get("SpecsParam") or ():
        name, count = one["SpecName"], int(one.get("SpecCount") or 1)
        if name not in prices:
            raise refuse(f"SpecName: expected one of DescribeBillingSpecs, got {name!r}", "ResourceNotFound")
        cost = round(prices[name] * 100 * count, 6)
        rows.append({"SpecName": name, "TotalCost": cost, "RealTotalCost": cost, "SpecCount": count})
    return {"SpecsPrice": rows}


def _groups(client: Client, values: Values) -> Any:
    return client.describe_resource_groups(
        values.get("Offset") or 0, values.get("Limit") or 20, values.get("SearchWord") or "", values.get("TagFilters")
    )


def _tasks(client: Client, values: Values) -> Any:
    return client.describe_training_tasks(
        values.get("Filters"),
        values.get("TagFilters"),
        values.get("Offset") or 0,
        values.get("Limit") or 50,
        values.get("Order") or "DESC",
        values.get("OrderField") or "UpdateTime",
    )


def _images(client: Client, _values: Values) -> Any:
    """List environments. The SDK only compares ids and names, so the id is replaced by the one that users enter."""
    found = client.describe_system_reasoning_images()
    for image, template in zip(found.PlatformImageInfos, found.FrameworkTemplates):
        image.ImageId = template.InferTemplates[0].InferTemplateId
    return found


def _push(client: Client, values: Values) -> Any:
    rows = values.get("Data") or []
    if any(not row.get("TaskId") for row in rows):
        raise refuse("TaskId: expected the id of a task, got none")
    return client.push_training_metrics_list(rows)


def _latest(client: Client, values: Values) -> dict[str, Any]:
    """Return the last point of each metric."""
    found = client.describe_training_metrics(_task_id(client, values, "TaskId"))
    rows = []
    for data in found.Data:
        at = {one.XType: one.Points[-1] for one in data.Metrics if one.Points}
        if "TIMESTAMP" not in at:
            continue
        time, value = at["TIMESTAMP"].XValue, at["TIMESTAMP"].YValue
        axes = {"Epochs": "EPOCH", "Steps": "STEP"}
        places = {
            name: [{"Timestamp": time, "Value": at[kind].XValue}] if kind in at else [] for name, kind in axes.items()
        }
        rows.append({"MetricName": data.MetricName, "Values": [{"Timestamp": time, "Value": value}], **places})
    return {"TaskId": found.TaskId, "Metrics": rows}


def _models(client: Client, values: Values) -> Any:
    names = ("Filters", "OrderField", "Order", "Offset", "Limit", "TagFilters")
    return client.describe_training_models(*(values.get(name) for name in names))


ACTIONS: dict[str, Action] = {
    "CreateTrainingTask": door_tasks.create_training_task,
    "DescribeTrainingTasks": _tasks,
    "DescribeTrainingTask": lambda client, values: client.describe_training_task(_task_id(client, values)),
    "StartTrainingTask": lambda client, values: client.start_training_task(values["Id"]),
    "StopTrainingTask": lambda client, values: client.stop_training_task(values["Id"]),
    "DeleteTrainingTask": lambda client, values: client.delete_training_task(values["Id"]),
    "DescribeTrainingTaskPods": lambda client, values: client.describe_training_task_pods(values["Id"]),
    "DescribeTrainingFrameworks": lambda client, _: client.describe_training_frameworks(),
    "DescribeLogs": door_tasks.describe_logs,
    "PushTrainingMetrics": _push,
    "DescribeTrainingMetrics": lambda client, values: client.describe_training_metrics(values["TaskId"]),
    "DescribeLatestTrainingMetrics": _latest,
    "DescribeBillingSpecs": _specs,
    "DescribeBillingSpecsPrice": _prices,
    "DescribeBillingResourceGroups": _groups,
    "DescribePlatformImages": _images,
    "CreateTrainingModel": create_training_model,
    "DescribeTrainingModels": _models,
    "DescribeTrainingModelVersions": lambda client, values: client.describe_training_model_versions(
        values["TrainingModelId"]
    ),
    "DescribeTrainingModelVersion": lambda client, values: client.describe_training_model_version(
        values["TrainingModelVersionId"]
    ),
    "DeleteTrainingModel": lambda client, values: client.delete_training_model(
        values["TrainingModelId"], enable_delete_cos=values.get("EnableDeleteCos", True)
    ),
    "DeleteTrainingModelVersion": lambda client, values: client.delete_training_model_version(
        values["TrainingModelVersionId"], enable_delete_cos=values.get("EnableDeleteCos", True)
    ),
}
REPEATABLE = frozenset(name for name in ACTIONS if name.startswith("Describe")) | {"PushTrainingMetrics"}
"""Actions that can be repeated safely: reads, and pushes of points, where points already stored are ignored."""
