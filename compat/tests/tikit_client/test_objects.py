"""Objects that calls return: their attributes, JSON both ways, and the tables that they print as."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import tikit
from tikit import log_reading, models
from tikit.client import Client
from tikit.storage import target_key
from tikit.tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException
from tikit.tencentcloud.tione.v20211111 import models as wire

ATTRIBUTES = {
    "CreateTrainingTaskResponse": "Id RequestId",
    "CreateTrainingModelResponse": "Id TrainingModelVersionId RequestId",
    "DescribeTrainingTasksResponse": "TrainingTaskSet TotalCount RequestId",
    "DescribeTrainingTaskPodsResponse": "PodNames TotalCount PodInfoList RequestId",
    "DescribeLogsResponse": "Context Content RequestId",
    "LogIdentity": "Id Message PodName Timestamp",
    "DescribeTrainingMetricsResponse": "TaskId Data RequestId",
    "CustomTrainingData": "MetricName Metrics",
    "CustomTrainingMetric": "XType Points",
    "CustomTrainingPoint": "XValue YValue",
    "FrameworkInfo": "Name VersionInfos",
    "FrameworkVersion": "Version TrainingModes Environment",
    "MetricData": "TaskId Timestamp Uin Epoch Step TotalSteps Points",
    "Tag": "TagKey TagValue",
    "TagFilter": "TagKey TagValues",
    "Filter": "Name Values Negative Fuzzy",
    "CodeRepoConfig": "Id TargetPath",
    "TrainingTaskSetItem": (
        "Id Name FrameworkName FrameworkVersion FrameworkEnvironment ChargeType ChargeStatus ResourceGroupId "
        "ResourceConfigInfos TrainingMode Status RuntimeInSeconds CreateTime StartTime EndTime Output FailureReason "
        "UpdateTime BillingInfo ResourceGroupName ImageInfo Message Tags CallbackUrl Uin SubUin SubUinName Warnings "
        "ResourceGroupSWType StartScheduleTime WaitingQueueIndex TaskType"
    ),
    "TrainingTaskDetail": (
        "Region CodePackagePath StartCmdInfo DataSource DataConfigs TuningParameters LogEnable LogConfig VpcId "
        "SubnetId LatestInstanceId TensorBoardId Remark SchedulePolicy CodeRepos"
    ),
    "PodInfo": "Name IP Status Url StartTime EndTime ResourceConfigInfo NodeId",
    "Spec": (
        "SpecId SpecName SpecAlias Available AvailableRegion SpecFeatures SpecType GpuType Cpu Memory Gpu GpuMemory"
    ),
    "ResourceGroup": (
        "ResourceGroupId ResourceGroupName FreeInstance TotalInstance UsedResource TotalResource AvailableResource "
        "InstanceSet TagSet ScheduleStrategy"
    ),
    "TrainingModelVersionDTO": (
        "TrainingModelId TrainingModelVersionId TrainingModelVersion TrainingModelSource TrainingModelCreateTime "
        "TrainingModelCreator AlgorithmFramework ReasoningEnvironment ReasoningEnvironmentSource "
        "ReasoningEnvironmentId ReasoningImageInfo TrainingModelIndex TrainingJobName TrainingJobId "
        "TrainingModelCosPath TrainingModelName TrainingModelStatus TrainingModelProgress TrainingModelErrorMsg "
        "TrainingModelFormat VersionType AutoClean"
    ),
    "TrainingModelDTO": "TrainingModelId TrainingModelName Tags CreateTime TrainingModelVersions",
    "PlatformImageInfo": "ImageId ImageName Framework FrameworkVersion ImageUrl ImageRange SupportGpuList",
    "DescribePlatformImagesResponse": "TotalCount PlatformImageInfos FrameworkTemplates RequestId",
    "InferTemplateGroup": "Framework FrameworkVersion Groups InferTemplates",
    "InferTemplate": "InferTemplateId InferTemplateImage",
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str) -> None:
    made = getattr(wire, name)()
    assert [one for one in ATTRIBUTES[name].split() if not hasattr(made, one)] == []
    assert set(json.loads(made.to_json_string())) >= set(ATTRIBUTES[name].split())


def test_json_both_ways() -> None:
    tag = wire.Tag.new(TagKey="队", TagValue="视觉")
    task = wire.TrainingTaskSetItem.new(Id="train-1", Tags=[tag])
    again = wire.TrainingTaskSetItem()
    again.from_json_string(task.to_json_string())
    assert again.Tags[0].TagValue == "视觉"
    assert again.to_json_string() == task.to_json_string()
    assert "视觉" in repr(task)
    assert task._serialize() == {"Id": "train-1", "Tags": [{"TagKey": "队", "TagValue": "视觉"}]}


def test_a_table_is_text_on_a_terminal_and_html_in_a_notebook() -> None:
    specs = [wire.Spec.new(SpecName="TI.S.MEDIUM.POST", SpecAlias="2C4G", SpecId="0.70")]
    shown = wire.DescribeBillingSpecsResponse.new(Specs=specs)
    assert repr(shown).splitlines() == [
        "+------------------+------+------------------------+",
        "|     配置名称     | 描述 | 每小时价格（单位：元） |",
        "+------------------+------+------------------------+",
        "| TI.S.MEDIUM.POST | 2C4G |          0.70          |",
        "+------------------+------+------------------------+",
    ]
    assert shown._repr_html_().count("<td>") == 3


def test_what_a_job_printed_does_nothing_to_the_terminal_or_the_notebook() -> None:
    line = wire.LogIdentity.new(Timestamp="t", PodName="p", Message="\x1b[2J<script>")
    shown = wire.DescribeLogsResponse.new(Content=[line], Context="")
    assert "\\x1b[2J<script>" in repr(shown)
    assert "<script>" not in shown._repr_html_()


def test_a_task_without_most_of_its_attributes_is_shown() -> None:
    task = wire.TrainingTaskSetItem.new(Id="train-1", ResourceConfigInfos=[])
    assert "train-1" in repr(wire.DescribeTrainingTasksResponse.new(TrainingTaskSet=[task]))


@pytest.mark.parametrize(
    ("path", "is_folder", "key"),
    [
        ("x/", True, "x/src/"),
        ("x", True, "x/"),
        ("x/y", True, "x/y/"),
        ("", True, "src/"),
        ("/", True, "src/"),
        ("x/", False, "x/src"),
        ("x/z.txt", False, "x/z.txt"),
        ("", False, "src"),
    ],
)
def test_where_an_upload_goes(path: str, is_folder: bool, key: str) -> None:
    assert target_key("src", path, is_folder=is_folder) == key


class TestWithoutAServer:
    @pytest.fixture(autouse=True)
    def _alone(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("DANLU_CONFIG", str(tmp_path / "none.yml"))
        for name in ("DANLU_URL", "DANLU_API_KEY", "DANLU_TOKEN_FILE", "TI_TASK_ID", "REGION"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(tmp_path)

    def test_a_pair_is_a_key_of_danlu(self) -> None:
        made = Client("dk-abc", "secret", "ap-guangzhou", tione_endpoint="http://127.0.0.1:9")
        info = made.get_client_info()
        assert (info["secret_id"], info["secret_key"], info["region"]) == ("dk-abc", "secret", "ap-guangzhou")
        assert info["tione_client"].settings.api_key == "dk-abc.secret"
        assert info["tione_client"].url == "http://127.0.0.1:9"

    def test_placeholders_are_not_sent(self) -> None:
        made = Client("your_secret_id", "your_secret_key", tione_endpoint="tione.example.com")
        assert made.get_client_info()["tione_client"].settings.api_key is None

    def test_no_server_is_the_error_that_scripts_catch(self) -> None:
        with pytest.raises(TencentCloudSDKException) as caught:
            Client(tione_endpoint="http://127.0.0.1:9").describe_cos_buckets()
        assert caught.value.code == "ClientNetworkError"

    def test_a_task_must_be_named(self) -> None:
        with pytest.raises(TencentCloudSDKException, match="task id cannot be empty"):
            Client().push_training_metrics(1, {"a": 1.0})

    def test_calls_that_are_not_here_say_what_is(self) -> None:
        with pytest.raises(TencentCloudSDKException, match=r"create_notebook: .*jupyter") as caught:
            Client().create_notebook("n")
        assert caught.value.code == "UnsupportedOperation"
        assert not hasattr(Client(), "no_such_call")

    def test_what_the_mode_ray_needs(self) -> None:
        ray = models.FrameworkInfo.new_custom("RAY", "CCR", "registry.example/ray:2")
        ddp = models.FrameworkInfo.new_custom("DDP", "CCR", "registry.example/torch:2")
        one, two = (models.ResourceConfigInfo.new_postpaid("small", number) for number in (1, 2))
        for framework, machines, told in (
            (ray, {"worker_resource": one}, "head_resource: expected models.ResourceConfigInfo in the mode RAY"),
            (ray, {"head_resource": two}, "RAY has one head, got InstanceNum 2"),
            (ray, {"head_resource": one, "worker_resource": one, "worker_resource_group": [one]}, "got both"),
            (ray, {"head_resource": one, "ps_resource": one}, "ps_resource: expected none in the mode RAY"),
            (ddp, {"head_resource": one, "worker_resource": one}, "expected none in the mode DDP"),
        ):
            with pytest.raises(TencentCloudSDKException, match=told):
                Client().create_training_task("t", framework, worker_start_cmd="python a.py", **machines)

    def test_what_a_context_is(self) -> None:
        assert log_reading.from_context(log_reading.to_context(2, {0: 5, 1: 7})) == (2, {0: 5, 1: 7})
        with pytest.raises(TencentCloudSDKException, match="context: expected"):
            log_reading.from_context("nonsense")


def test_importing_needs_no_torch() -> None:
    assert tikit.Client is Client
    import subprocess

    script = "import sys, tikit.client, tikit.models; print('torch' in sys.modules, 'fastapi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
