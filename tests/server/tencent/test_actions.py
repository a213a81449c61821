"""Actions of the API, with the fields that Tencent Cloud's SDK sends."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.tencent.conftest import Opened
from tests.support.tencent import TencentSdk
from tests.support.world import Api

from danlu.auth.identity import Role
from danlu.client import Client


@pytest.fixture(scope="module")
def filled(opened: Opened) -> Opened:
    with Client(url=opened.url, api_key=opened.world.api_key()) as client:
        client.flavors.add("TI.GN10.2XLARGE40.POST", price_per_hour="18.4008", description="8C40G V100*1")
        client.frameworks.add("torch1.9-py3.8-cuda11.1-gpu", title="PYTORCH 1.9", launch=["ddp"])
        client.frameworks.add("torch1.9.0-py38-cu111", title="PYTORCH 1.9 serving", purpose="inference")
    with Api(opened.url, opened.world.api_key()) as api:
        for key in ("code/start.sh", "data/a.txt"):
            assert api("PUT", f"/buckets/main/objects/{key}", content=b"true").status_code < 300
    return opened


@pytest.fixture
def sdk(filled: Opened) -> Iterator[TencentSdk]:
    with TencentSdk(filled.url, filled.signing_key(), filled.world.clock().timestamp()) as made:
        yield made


def task(name: str, **changes: Any) -> dict[str, Any]:
    commands = {"StartCmd": None, "PsStartCmd": None, "WorkerStartCmd": "sh start.sh"}
    return {
        "Name": name,
        "ChargeType": "POSTPAID_BY_HOUR",
        "ResourceConfigInfos": [{"Role": "WORKER", "InstanceType": "TI.GN10.2XLARGE40.POST", "InstanceNum": 2}],
        "FrameworkName": "PYTORCH",
        "FrameworkEnvironment": "torch1.9-py3.8-cuda11.1-gpu",
        "ResourceGroupId": "",
        "Tags": [{"TagKey": "team", "TagValue": "vision"}],
        "CodePackagePath": cos("code/"),
        "TrainingMode": "DDP",
        "EncodedStartCmdInfo": {"StartCmdInfo": base64.b64encode(json.dumps(commands).encode()).decode()},
        "DataSource": "COS",
        "DataConfigs": [{"MappingPath": "/opt/ml/input/data", "DataSourceType": "COS", "COSSource": cos("data/")}],
        "TuningParameters": '{"lr": 0.1}',
        "Output": cos("output/"),
        "LogEnable": False,
        "Remark": "first",
        "SchedulePolicy": {"BackOffLimit": 2},
        **changes,
    }


def cos(path: str) -> dict[str, Any]:
    return {"Bucket": "main", "Region": "ap-guangzhou", "Paths": [path]}


def test_a_task_from_its_request_to_its_end(filled: Opened, sdk: TencentSdk) -> None:
    task_id = sdk.action("CreateTrainingTask", **task("dots"))["Id"]
    spec = filled.world.job(task_id).spec
    assert (spec["nodes"], spec["launch"], spec["command"]) == (2, "ddp", "sh start.sh")
    assert spec["data"] == {"store://main/data/": "/opt/ml/input/data"}
    assert spec["hyperparameters"] == {"lr": 0.1}
    assert spec["retry"]["max"] == 2
    found = sdk.action("DescribeTrainingTask", Id=task_id)["TrainingTaskDetail"]
    assert (found["Name"], found["Status"], found["Remark"]) == ("dots", "PENDING", "first")
    assert found["Output"]["Paths"] == ["output/"]
    assert found["Tags"] == [{"TagKey": "team", "TagValue": "vision"}]
    # the SDK's save_log asks by the id of an instance
    assert sdk.action("DescribeTrainingTask", Id=f"{task_id}-1")["TrainingTaskDetail"]["Id"] == task_id
    listed = sdk.action("DescribeTrainingTasks", Filters=[{"Name": "Name", "Values": ["dots"]}], Limit=10)
    assert [one["Id"] for one in listed["TrainingTaskSet"]] == [task_id]
    assert sdk.action("DescribeTrainingTaskPods", Id=task_id)["TotalCount"] == 0
    assert sdk.action("DescribeLogs", Service="TRAIN", ServiceId=f"{task_id}-1", Limit=1000)["Content"] == []
    assert sdk.code("DeleteTrainingTask", Id=task_id) == "FailedOperation.NotAllow"
    assert "Error" not in sdk.action("StopTrainingTask", Id=task_id)
    filled.world.tick()
    sdk.at += 1  # another second, another signature
    assert "Error" not in sdk.action("DeleteTrainingTask", Id=task_id)
    assert sdk.code("DescribeTrainingTask", Id=task_id) == "ResourceNotFound"


def test_what_a_task_cannot_have_is_refused_by_name(sdk: TencentSdk) -> None:
    hdfs = [{"MappingPath": "/d", "DataSourceType": "HDFS", "HDFSSource": {"Id": "hdfs-1", "Path": "/data"}}]
    told = sdk.action("CreateTrainingTask", **task("hdfs", DataConfigs=hdfs))["Error"]
    assert told["Code"] == "UnsupportedOperation"
    assert "HDFS hdfs-1 /data" in told["Message"]
    secret = {"ImageType": "CCR", "ImageUrl": "registry/x", "ImageSecret": {"Username": "u", "Password": "p"}}
    assert sdk.code("CreateTrainingTask", **task("image", ImageInfo=secret)) == "UnsupportedOperation"
    ray = [{"Role": "HEAD", "InstanceNum": 2}, {"Role": "WORKER", "InstanceNum": 1}]
    told = sdk.action("CreateTrainingTask", **task("ray", ResourceConfigInfos=ray, TrainingMode="RAY"))["Error"]
    assert told["Code"] == "InvalidParameterValue"
    assert told["Message"] == "head_resource: RAY has one head, got InstanceNum 2"
    values: list[dict[str, Any]] = [
        {"Name": ""},
        {"ResourceConfigInfos": []},
        {"EncodedStartCmdInfo": {"StartCmdInfo": "?"}},
    ]
    for wrong in values:
        assert sdk.code("CreateTrainingTask", **task("wrong", **wrong)) == "InvalidParameterValue"
    unread: list[dict[str, Any]] = [{"TuningParameters": "?"}, {"ResourceConfigInfos": ["x"]}]
    for wrong in unread:
        assert sdk.code("CreateTrainingTask", **task("wrong", **wrong)) == "InvalidParameter"
    assert sdk.code("StopTrainingTask") == "InvalidParameter"
    assert sdk.code("PushTrainingMetrics", Data=[{"Timestamp": 1, "Points": []}]) == "InvalidParameterValue"


def test_a_ray_cluster_has_a_head_and_groups_of_workers(sdk: TencentSdk) -> None:
    rows = [{"Role": role, "InstanceNum": number} for role, number in (("HEAD", 1), ("WORKER", 2), ("WORKER", 1))]
    asked = task("ray", ResourceConfigInfos=rows, TrainingMode="RAY", FrameworkEnvironment=None)
    task_id = sdk.action("CreateTrainingTask", **asked)["Id"]
    found = sdk.action("DescribeTrainingTask", Id=task_id)["TrainingTaskDetail"]
    assert found["TrainingMode"] == "RAY"
    assert [(row["Role"], row["InstanceNum"]) for row in found["ResourceConfigInfos"]] == [
        ("HEAD", 1),
        ("WORKER", 2),
        ("WORKER", 1),
    ]
    assert found["StartCmdInfo"]["WorkerStartCmd"] == "sh start.sh"


def test_machines_have_prices_in_hundredths(sdk: TencentSdk) -> None:
    (spec,) = sdk.action("DescribeBillingSpecs", TaskType="TRAIN", ChargeType="POSTPAID_BY_HOUR")["Specs"]
    assert (spec["SpecId"], spec["SpecAlias"]) == ("TI.GN10.2XLARGE40.POST", "8C40G V100*1")
    (price,) = sdk.action("DescribeBillingSpecsPrice", SpecsParam=[{"SpecName": spec["SpecName"], "SpecCount": 1}])[
        "SpecsPrice"
    ]
    assert price["RealTotalCost"] / 100.0 == 18.4008


def test_environments_are_found_by_the_name_that_users_type(sdk: TencentSdk) -> None:
    (image,) = sdk.action("DescribePlatformImages", Offset=0, Limit=200)["PlatformImageInfos"]
    assert (image["ImageId"], image["ImageName"]) == ("torch1.9.0-py38-cu111", "PYTORCH 1.9 serving")
    names = [one["Name"] for one in sdk.action("DescribeTrainingFrameworks")["FrameworkInfos"]]
    assert names == ["PYTORCH"]


def test_a_model_of_files(sdk: TencentSdk) -> None:
    assert sdk.store("PUT", "weights/model.pt", b"weights").status_code == 200
    model = {
        "TrainingModelSource": "COS",
        "TrainingModelCosPath": cos("weights/"),
        "ModelFormat": "PYTORCH",
        "AlgorithmFramework": "PYTORCH",
        "ReasoningEnvironmentSource": "SYSTEM",
        "ReasoningEnvironmentId": "torch1.9.0-py38-cu111",
        "TrainingModelIndex": "acc=0.9",
        "ModelMoveMode": "COPY",
    }
    made = sdk.action("CreateTrainingModel", ImportMethod="MODEL", TrainingModelName="dots", **model)
    (version,) = sdk.action("DescribeTrainingModelVersions", TrainingModelId=made["Id"])["TrainingModelVersions"]
    assert (version["TrainingModelVersion"], version["ReasoningEnvironment"]) == ("v1", "torch1.9.0-py38-cu111")
    assert version["TrainingModelIndex"] == "acc=0.9"
    again = {"ImportMethod": "VERSION", "TrainingModelId": made["Id"]}
    second = sdk.action("CreateTrainingModel", **again, **model)["TrainingModelVersionId"]
    one = sdk.action("DescribeTrainingModelVersion", TrainingModelVersionId=second)["TrainingModelVersion"]
    assert one["TrainingModelVersion"] == "v2"
    assert "Error" not in sdk.action("DeleteTrainingModelVersion", TrainingModelVersionId=second)
    appended = {"ImportMethod": "EXIST", "TrainingModelId": made["Id"], "TrainingModelVersion": "v1"}
    assert sdk.code("CreateTrainingModel", **appended, **model) == "UnsupportedOperation"
    assert "Error" not in sdk.action("DeleteTrainingModel", TrainingModelId=made["Id"])
    assert sdk.action("DescribeTrainingModels")["TotalCount"] == 0


def test_rights_are_those_of_the_key(filled: Opened, sdk: TencentSdk) -> None:
    task_id = sdk.action("CreateTrainingTask", **task("mine"))["Id"]
    key = filled.signing_key(who=filled.world.add_user("other", "elsewhere", Role.MEMBER))
    with TencentSdk(filled.url, key, sdk.at) as other:
        assert other.code("StopTrainingTask", Id=task_id) == "ResourceNotFound"
        assert other.code("CreateTrainingTask", **task("theirs")) in ("ResourceNotFound", "InvalidParameterValue")
        assert other.action("DescribeTrainingTasks")["TotalCount"] == 0
    assert sdk.action("DescribeBillingResourceGroups", Limit=20)["ResourceGroupSet"][0]["ResourceGroupId"] == "default"
