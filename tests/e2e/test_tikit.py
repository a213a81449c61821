"""Every call of tikit against a running server."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from danlu.client import Client
from danlu.errors import AlreadyExists
from danlu.testing.gates import UNTIL_STOPPED
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until
from tikit import models
from tikit.client import Client as Tikit
from tikit.tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException
from tikit.tencentcloud.tione.v20211111 import models as wire

BUCKET = "demo-1256580188"
PLAIN = models.FrameworkInfo.new_system_framework("TORCH", "tikit-torch", "DDP")
SMALL = models.ResourceConfigInfo.new_postpaid("TI.S.MEDIUM.POST", 1)
LINES = 1200
SCRIPT = f"""
for i in $(seq 1 {LINES // 2}); do echo "line $i of $INDEX"; done
python3 - <<'END'
import os, time
if os.environ["INDEX"] == "0":
    from tikit.client import Client
    client = Client("your_secret_id", "your_secret_key", "<region>")
    for epoch in (1, 2, 3):
        client.push_training_metrics(int(time.time()), {{"acc1": 10.0 * epoch, "val/acc5": 50.0}}, epoch=epoch)
END
mkdir -p /opt/ml/model && echo weights-$INDEX > /opt/ml/model/weights-$INDEX
"""


@pytest.fixture(scope="module")
def tikit(server: RunningServer) -> Iterator[Tikit]:
    with server.client() as client:
        client.store.make_bucket(BUCKET)
        client.flavors.add("TI.S.MEDIUM.POST", price_per_hour="0.70", description="2C4G")
        client.frameworks.add("tikit-torch", title="TORCH 1.9", launch=["ddp"])
        client.frameworks.add("tikit-ps", title="TF 2.4", launch=["ps_worker", "mpi"])
        client.frameworks.add("torch1.9.0-py38-cu111", title="TORCH 1.9 serving", purpose="inference")
    key_id, _, secret = server.api_key.partition(".")
    yield Tikit(key_id, secret, "ap-guangzhou", tione_endpoint=server.url)
    with server.client() as client:  # the server is shared
        client.flavors.remove("TI.S.MEDIUM.POST")
        for name in ("tikit-torch", "tikit-ps", "torch1.9.0-py38-cu111"):
            client.frameworks.remove(name)


@pytest.fixture(scope="module")
def trained(tikit: Tikit, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The id of a task of two nodes that has ended well."""
    code = tmp_path_factory.mktemp("code")
    (code / "start.sh").write_text(SCRIPT)
    tikit.upload_to_cos(str(code), BUCKET, "trained/code")
    made = tikit.create_training_task(
        "two-nodes",
        PLAIN,
        f"{BUCKET}/output/",
        models.ResourceConfigInfo.new_postpaid("TI.S.MEDIUM.POST", 2),
        code_package_path=f"{BUCKET}/trained/code/",
        worker_start_cmd="bash start.sh",
        tags=[wire.Tag.new(TagKey="team", TagValue="vision")],
        tuning_parameters_dict={"lr": 0.1},
        remark="for tests",
    )
    assert wait_for(tikit, made.Id) == "SUCCEED", repr(tikit.describe_train_logs(f"{made.Id}*"))
    return str(made.Id)


def wait_for(tikit: Tikit, task_id: str, *states: str) -> str:
    """Its state once that is final, or one of these."""
    final = states or ("SUCCEED", "FAILED", "STOPPED")

    def look() -> str | None:
        found = str(tikit.describe_training_task(task_id).TrainingTaskDetail.Status)
        return found if found in final else None

    return str(wait_until(look))


class TestStorage:
    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        (tmp_path / "src" / "sub").mkdir(parents=True)
        (tmp_path / "src" / "a.txt").write_text("a")
        (tmp_path / "src" / "sub" / "b.txt").write_text("bb")
        return tmp_path / "src"

    def keys(self, tikit: Tikit, prefix: str) -> list[str]:
        return [one["Key"] for one in tikit.get_cos_sub_files(BUCKET, prefix)]

    def test_uploads_go_where_the_original_puts_them(self, tikit: Tikit, tree: Path) -> None:
        for target, below in [("up1/", "up1/src/"), ("up2", "up2/"), ("up3/y", "up3/y/")]:
            tikit.upload_to_cos(str(tree), BUCKET, target)
            assert self.keys(tikit, below) == [f"{below}a.txt", f"{below}sub/b.txt"]
        tikit.upload_to_cos(str(tree / "a.txt"), BUCKET, "up4/")
        tikit.upload_to_cos(str(tree / "a.txt"), BUCKET, "up4/z.txt")
        assert self.keys(tikit, "up4/") == ["up4/a.txt", "up4/z.txt"]
        with pytest.raises(Exception, match="local path is not exist"):
            tikit.upload_to_cos(str(tree / "nothing"), BUCKET, "up5/")

    def test_a_repeated_upload_overwrites(self, tikit: Tikit, tree: Path) -> None:
        tikit.upload_to_cos(str(tree), BUCKET, "again/")
        (tree / "a.txt").write_text("longer")
        tikit.upload_to_cos(str(tree), BUCKET, "again/")
        found = {one["Key"]: one["Size"] for one in tikit.get_cos_sub_files(BUCKET, "again/")}
        assert found == {"again/src/a.txt": "6", "again/src/sub/b.txt": "2"}

    def test_a_page_of_a_folder(self, tikit: Tikit, tree: Path) -> None:
        tikit.upload_to_cos(str(tree), BUCKET, "page")
        found = tikit.describe_cos_path(BUCKET, "page/")
        assert [one["Key"] for one in found["Contents"]] == ["page/a.txt"]
        assert found["CommonPrefixes"] == [{"Prefix": "page/sub/"}]
        assert found["IsTruncated"] == "false"
        first = tikit.describe_cos_path(BUCKET, "page/", max_keys=1)
        assert (first["IsTruncated"], first["NextMarker"]) == ("true", "page/a.txt")
        rest = tikit.describe_cos_path(BUCKET, "page/", maker=first["NextMarker"])
        assert "Contents" not in rest
        assert rest["CommonPrefixes"] == [{"Prefix": "page/sub/"}]

    def test_downloads(self, tikit: Tikit, tree: Path, tmp_path: Path) -> None:
        tikit.upload_to_cos(str(tree), BUCKET, "down/")
        for path, expected in [("down/", "src/a.txt"), ("down", "down/src/a.txt"), ("down/src/a.txt", "a.txt")]:
            out = tmp_path / f"out-{expected.replace('/', '-')}"
            tikit.download_from_cos(BUCKET, path, str(out))
            assert (out / expected).read_text() == "a"
        with pytest.raises(Exception, match='cos path "down/none" not existed'):
            tikit.download_from_cos(BUCKET, "down/none", str(tmp_path / "out"))
        with pytest.raises(Exception, match="should be directory"):
            tikit.download_from_cos(BUCKET, "down/", str(tree / "a.txt"))

    def test_folders(self, tikit: Tikit, tmp_path: Path) -> None:
        tikit.mkdir(BUCKET, "made/inner/")
        tikit.mkdir(BUCKET, "parent/name")
        tikit.mkdir(BUCKET, "/")
        assert tikit.is_cos_dir(BUCKET, "/made/inner/")
        assert tikit.check_object_exist(BUCKET, "parent/")
        assert not tikit.check_object_exist(BUCKET, "parent/name")
        assert self.keys(tikit, "made/") == ["made/inner/"]
        tikit.download_from_cos(BUCKET, "made/", str(tmp_path / "out"))
        assert [path.name for path in (tmp_path / "out").rglob("*")] == ["inner"]

    def test_deleting(self, tikit: Tikit, tree: Path) -> None:
        tikit.upload_to_cos(str(tree), BUCKET, "gone")
        tikit.delete_cos_path(BUCKET, "gone/a.txt")
        assert not tikit.check_object_exist(BUCKET, "gone/a.txt")
        tikit.delete_cos_files(BUCKET, [{"Key": "gone/sub/b.txt"}, {"Key": "gone/never"}])
        assert self.keys(tikit, "gone/") == []
        tikit.upload_to_cos(str(tree), BUCKET, "gone")
        tikit.delete_cos_path(BUCKET, "gone/")
        assert not tikit.is_cos_dir(BUCKET, "gone")
        with pytest.raises(Exception, match="failed to delete"):
            tikit.delete_cos_path(BUCKET, "")

    def test_buckets_and_paths(self, tikit: Tikit) -> None:
        found = tikit.describe_cos_buckets()
        mine = next(one for one in found["Buckets"]["Bucket"] if one["Name"] == BUCKET)
        assert mine["Location"] == "ap-guangzhou"
        where = tikit.parse_cos_info(f"{BUCKET}/a/b/")
        assert (where.Bucket, where.Region, where.Paths) == (BUCKET, "ap-guangzhou", ["a/b/"])
        with pytest.raises(TencentCloudSDKException, match="should be"):
            tikit.parse_cos_info("no-slash")


class TestCatalogue:
    def test_frameworks(self, tikit: Tikit) -> None:
        found = tikit.describe_training_frameworks()
        by_name = {info.Name: info.VersionInfos for info in found.FrameworkInfos}
        (torch,) = by_name["TORCH"]
        assert (torch.Version, torch.Environment, torch.TrainingModes) == ("1.9", "tikit-torch", ["DDP"])
        assert by_name["TF"][0].TrainingModes == ["PS_WORKER", "MPI"]
        assert "tikit-torch" in repr(found)

    def test_prices(self, tikit: Tikit) -> None:
        for found in (tikit.describe_postpaid_training_price(), tikit.describe_postpaid_reasoning_price()):
            spec = next(one for one in found.Specs if one.SpecName == "TI.S.MEDIUM.POST")
            assert (spec.SpecId, spec.SpecAlias, spec.Gpu) == ("0.70", "2C4G", 0)
            assert "0.70" in repr(found)

    def test_resource_groups_are_projects(self, tikit: Tikit) -> None:
        found = tikit.describe_resource_groups()
        (group, *_) = found.ResourceGroupSet
        assert group.TotalResource.Cpu > 0
        assert [detail.Name for detail in group.TotalResource.GpuDetailSet] == ["npu"]
        assert group.InstanceSet[0].InstanceStatus == "RUNNING"
        assert tikit.describe_train_resource_groups(search_word="no such").TotalCount == 0
        assert tikit.describe_inference_resource_groups(limit=1).TotalCount == found.TotalCount
        assert group.ResourceGroupName in repr(found)

    def test_environments_of_models_in_both_shapes(self, tikit: Tikit) -> None:
        found = tikit.describe_system_reasoning_images()
        (image,) = [one for one in found.PlatformImageInfos if one.ImageName == "TORCH 1.9 serving"]
        assert image.Framework == "TORCH"
        templates = [one.InferTemplateId for group in found.FrameworkTemplates for one in group.InferTemplates]
        assert templates == ["torch1.9.0-py38-cu111"]
        assert tikit.describe_infer_templates().TotalCount == tikit.describe_reasoning_env().TotalCount == 1
        assert image.ImageId in repr(found)


class TestTasks:
    def test_one_in_full(self, tikit: Tikit, trained: str) -> None:
        found = tikit.describe_training_task(trained).TrainingTaskDetail
        assert (found.Id, found.Name, found.Status, found.TrainingMode) == (trained, "two-nodes", "SUCCEED", "DDP")
        assert (found.FrameworkName, found.FrameworkEnvironment) == ("TORCH", "tikit-torch")
        assert (found.Output.Bucket, found.Output.Paths) == (BUCKET, ["output/"])
        assert found.StartCmdInfo.StartCmd == "bash start.sh"
        assert found.TuningParameters == '{"lr": 0.1}'
        assert (found.Remark, found.Tags[0].TagValue) == ("for tests", "vision")
        (config,) = found.ResourceConfigInfos
        assert (config.InstanceType, config.InstanceNum) == ("TI.S.MEDIUM.POST", 2)
        assert found.LatestInstanceId == f"{trained}-1"

    def test_lists(self, tikit: Tikit, trained: str) -> None:
        found = tikit.describe_training_tasks([{"Name": "Id", "Values": [trained]}])
        assert [one.Id for one in found.TrainingTaskSet] == [trained]
        assert "two-nodes" in repr(found)
        tags = [wire.TagFilter.new(TagKey="team", TagValues=["vision"])]
        assert trained in [one.Id for one in tikit.describe_training_tasks(tag_filters=tags).TrainingTaskSet]
        fuzzy = wire.Filter.new(Name="Name", Values=["o-node"], Fuzzy=True)
        assert tikit.describe_training_tasks([fuzzy], limit=1, order="ASC").TrainingTaskSet[0].Id == trained
        none = wire.Filter.new(Name="Id", Values=[trained], Negative=True)
        assert trained not in [one.Id for one in tikit.describe_training_tasks([none]).TrainingTaskSet]
        with pytest.raises(TencentCloudSDKException, match="filters: expected a Name"):
            tikit.describe_training_tasks([{"Name": "TaskStatus", "Values": ["Running"]}])

    def test_pods(self, tikit: Tikit, trained: str) -> None:
        found = tikit.describe_training_task_pods(trained)
        assert found.PodNames == [f"{trained}-worker-0", f"{trained}-worker-1"]
        assert {pod.Status for pod in found.PodInfoList} == {"SUCCEEDED"}
        assert f"{trained}-worker-1" in repr(found)

    def test_a_life(self, tikit: Tikit) -> None:
        of_2022: tuple[Any, ...] = ("long", PLAIN, f"{BUCKET}/output/", SMALL, None, None, None, UNTIL_STOPPED)
        made = tikit.create_training_task(*of_2022)
        wait_for(tikit, made.Id, "RUNNING")
        with pytest.raises(TencentCloudSDKException) as caught:
            tikit.delete_training_task(made.Id)
        assert caught.value.code == "FailedOperation.NotAllow"
        tikit.stop_training_task(made.Id)
        assert wait_for(tikit, made.Id) == "STOPPED"
        tikit.start_training_task(made.Id)
        wait_for(tikit, made.Id, "RUNNING")
        tikit.stop_training_task(made.Id)
        wait_for(tikit, made.Id, "STOPPED")
        tikit.delete_training_task(made.Id)
        with pytest.raises(TencentCloudSDKException) as caught:
            tikit.describe_training_task(made.Id)
        assert caught.value.code == "ResourceNotFound"

    def test_a_failure_is_told(self, tikit: Tikit) -> None:
        made = tikit.create_training_task("bad", PLAIN, None, SMALL, worker_start_cmd="exit 3")
        assert wait_for(tikit, made.Id) == "FAILED"
        assert "3" in tikit.describe_training_task(made.Id).TrainingTaskDetail.FailureReason

    def test_what_the_server_refuses(self, tikit: Tikit) -> None:
        unknown = models.ResourceConfigInfo.new_postpaid("TI.NONE", 1)
        with pytest.raises(TencentCloudSDKException, match=r"TI\.NONE") as caught:
            tikit.create_training_task("x", PLAIN, None, unknown, worker_start_cmd="true")
        assert caught.value.code == "InvalidParameterValue"


class TestLogs:
    def test_pages_to_the_end_in_both_directions(self, tikit: Tikit, trained: str) -> None:
        pages: dict[str, list[tuple[str, str]]] = {}
        for order in ("ASC", "DESC"):
            page: wire.DescribeLogsResponse | None = tikit.describe_train_logs(f"{trained}*", order=order)
            read: list[tuple[str, str]] = []
            while page is not None:
                assert len(page.Content) <= 100
                read += [(line.PodName, line.Message) for line in page.Content]
                again = page.next()
                assert again is None or again is page
                page = again
            pages[order] = read
        for index in range(2):
            mine = [text for pod, text in pages["ASC"] if pod == f"{trained}-worker-{index}"]
            assert mine == [f"line {i} of {index}" for i in range(1, LINES // 2 + 1)]
            backwards = [text for pod, text in pages["DESC"] if pod == f"{trained}-worker-{index}"]
            assert backwards == mine[::-1]

    def test_one_pod_words_and_a_context(self, tikit: Tikit, trained: str) -> None:
        words = [{"Name": "Key", "Values": ["line 7", "of 1"]}]
        found = tikit.describe_train_logs(f"{trained}-worker-1", order="ASC", limit=5, filters=words)
        texts = [line.Message for line in found.Content]
        assert texts == ["line 7 of 1", *(f"line 7{i} of 1" for i in range(4))]
        more = tikit.describe_train_logs(
            f"{trained}-worker-1", order="ASC", limit=5, context=found.Context, filters=words
        )
        assert more.Content[0].Message == "line 74 of 1"
        assert "line 74 of 1" in repr(more)

    def test_times(self, tikit: Tikit, trained: str) -> None:
        late = tikit.describe_train_logs(f"{trained}*", start_time="2099-01-01T00:00:00Z")
        early = tikit.describe_train_logs(f"{trained}*", end_time="2001-01-01T00:00:00+08:00", order="ASC")
        assert (late.Content, early.Content) == ([], [])
        line = tikit.describe_train_logs(f"{trained}*", limit=1).Content[0]
        detail = tikit.describe_training_task(trained).TrainingTaskDetail
        assert detail.CreateTime <= line.Timestamp[:19] + "Z"
        with pytest.raises(TencentCloudSDKException, match="start_time: expected"):
            tikit.describe_train_logs(f"{trained}*", start_time="yesterday")

    def test_pods_that_are_not_there(self, tikit: Tikit, trained: str) -> None:
        for name in (f"{trained}-worker-7", f"{trained}-[w]orker-0"):
            with pytest.raises(TencentCloudSDKException, match="is none of"):
                tikit.describe_train_logs(name)
        with pytest.raises(TencentCloudSDKException, match="pod_name: expected"):
            tikit.describe_train_logs("nonsense*")

    def test_saving(self, tikit: Tikit, trained: str, tmp_path: Path) -> None:
        for _ in range(2):
            tikit.save_log(str(tmp_path), id=trained)
        tikit.save_log(str(tmp_path), compress=True, pod_name=f"{trained}-worker-0")
        assert sorted(path.name for path in tmp_path.iterdir()) == [trained, f"{trained}.zip", f"{trained}_1"]
        first, second = sorted((tmp_path / trained).iterdir())
        assert first.name.startswith(f"{trained}-worker-0-20")
        assert second.read_text().splitlines() == [f"line {i} of 1" for i in range(1, LINES // 2 + 1)]
        with zipfile.ZipFile(tmp_path / f"{trained}.zip") as archive:
            assert archive.namelist() == [first.name]


class TestMetrics:
    def test_a_job_pushes_as_itself_whatever_its_credentials_are(self, tikit: Tikit, trained: str) -> None:
        found = wait_until(lambda: self.lines(tikit, trained, "acc1", 3))
        assert found["EPOCH"] == [(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]
        assert found["STEP"] == [(0, 10.0), (1, 20.0), (2, 30.0)]
        assert [y for _, y in found["TIMESTAMP"]] == [10.0, 20.0, 30.0]
        assert len(self.lines(tikit, trained, "val/acc5", 3)) == 3

    def test_many_at_once(self, tikit: Tikit) -> None:
        made = tikit.create_training_task("pushed-to", PLAIN, None, SMALL, worker_start_cmd="true")
        point = wire.DataPoint.new(Name="loss", Value=0.5)
        data = wire.MetricData.new(TaskId=made.Id, Timestamp=int(time.time()), Step=5, TotalSteps=10, Points=[point])
        more = {"TaskId": made.Id, "Timestamp": 1, "Step": 6, "Points": [{"Name": "loss", "Value": 0.25}]}
        tikit.push_training_metrics_list([data, more])
        found = wait_until(lambda: self.lines(tikit, made.Id, "loss", 2))
        assert found["STEP"] == [(5, 0.5), (6, 0.25)]
        assert "EPOCH" not in found
        with pytest.raises(Exception, match="Timestamp: expected"):
            tikit.push_training_metrics_list([{"TaskId": made.Id}])
        wait_for(tikit, made.Id)

    def lines(self, tikit: Tikit, task_id: str, name: str, num: int) -> dict[str, list[tuple[float, float]]]:
        """The points of a metric by axis, once there are so many of them."""
        for data in tikit.describe_training_metrics(task_id).Data:
            lines = {one.XType: [(point.XValue, point.YValue) for point in one.Points] for one in data.Metrics}
            if data.MetricName == name and len(lines["STEP"]) == num:
                return lines
        return {}


class TestRepository:
    def test_from_a_task_to_a_version(self, tikit: Tikit, client: Client, trained: str) -> None:
        environment = models.ReasoningEnvironment.new_system_environment("torch1.9.0-py38-cu111")
        where = models.CosPathInfo(BUCKET, f"output/{trained}/", "ap-guangzhou")
        made = tikit.create_model_by_task("tikit-model", trained, environment, where, "PYTORCH")
        found = tikit.describe_training_model_version(made.TrainingModelVersionId).TrainingModelVersion
        assert (found.TrainingModelId, found.TrainingModelVersion) == (made.Id, "v1")
        assert (found.TrainingModelSource, found.TrainingJobId) == ("JOB", trained)
        assert (found.ReasoningEnvironment, found.ReasoningEnvironmentSource) == ("torch1.9.0-py38-cu111", "SYSTEM")
        assert (found.AlgorithmFramework, found.TrainingModelFormat) == ("TORCH", "PYTORCH")
        assert "acc1=30" in found.TrainingModelIndex
        path = f"{found.TrainingModelCosPath.Bucket}/{found.TrainingModelCosPath.Paths[0]}"
        assert [one.key.rpartition("/")[2] for one in client.store.list(path)] == ["weights-0", "weights-1"]

        with pytest.raises(TencentCloudSDKException) as caught:
            tikit.create_model_by_task("tikit-model", trained, environment, where, "PYTORCH")
        assert caught.value.code == "InvalidParameterValue.DuplicateName"
        by_id = {image.ImageName: image.ImageId for image in tikit.describe_reasoning_env().PlatformImageInfos}
        same = models.ReasoningEnvironment.new_system_environment(by_id["TORCH 1.9 serving"])
        second = tikit.create_model_version_by_task(made.Id, trained, same, where, "ONNX", "acc=0.5")
        versions = tikit.describe_training_model_versions(made.Id).TrainingModelVersions
        assert [one.TrainingModelVersion for one in versions] == ["v2", "v1"]
        assert versions[0].ReasoningEnvironment == "torch1.9.0-py38-cu111"
        tikit.delete_training_model_version(second.TrainingModelVersionId)
        assert len(tikit.describe_training_model_versions(made.Id).TrainingModelVersions) == 1
        with pytest.raises(TencentCloudSDKException, match="does not change"):
            tikit.append_model_into_existed_version_by_cos(made.Id, "v1", "b/p", "PYTORCH", environment, "b/o")
        tikit.delete_training_model(made.Id)
        assert list(client.store.list(path)) == []
        assert client.store.exists(f"{BUCKET}/output/{trained}/model/weights-0")

    def test_a_model_that_is_moved_leaves_the_rest_of_the_output(self, tikit: Tikit, client: Client) -> None:
        environment = models.ReasoningEnvironment.new_system_environment("torch1.9.0-py38-cu111")
        command = "echo w > /opt/ml/model/weights; echo k > /opt/ml/output/kept"
        job = client.jobs.submit(name="moved", command=command, output=f"store://{BUCKET}/moved")
        assert job.wait().state == "succeeded"
        tikit.create_model_by_task("tikit-moved", job.id, environment, None, "PYTORCH", delete_task_cos_model=True)
        left = [one.key.rpartition("/")[2] for one in client.store.list(f"{BUCKET}/moved/")]
        assert left == ["kept"]

    def test_from_files(self, tikit: Tikit, tmp_path: Path) -> None:
        (tmp_path / "model.onnx").write_text("onnx")
        tikit.upload_to_cos(str(tmp_path / "model.onnx"), BUCKET, "models/in/")
        custom = models.ReasoningEnvironment.new_custom_environment("CCR", "registry.example/serve:1")
        made = tikit.create_model_by_cos("tikit-files", "ONNX", f"{BUCKET}/models/in/", custom, "ONNX")
        tikit.create_model_version_by_cos(made.Id, "ONNX", f"{BUCKET}/models/in/", custom, "ONNX", model_index="good")
        found = tikit.describe_training_models([{"Name": "keyword", "Values": ["tikit-fi"]}])
        assert [one.TrainingModelId for one in found.TrainingModels] == [made.Id]
        assert "tikit-files" in repr(found)
        versions = tikit.describe_training_model_versions(made.Id)
        assert versions.TrainingModelVersions[0].ReasoningImageInfo.ImageUrl == "registry.example/serve:1"
        assert "v2" in repr(versions)

    def test_an_environment_that_is_not_there(self, tikit: Tikit, trained: str) -> None:
        unknown = models.ReasoningEnvironment.new_system_environment("nothing")
        with pytest.raises(TencentCloudSDKException, match='image key "nothing" is invalid'):
            tikit.create_model_by_task("tikit-none", trained, unknown, None, "PYTORCH")
        assert tikit.describe_training_models([{"Name": "keyword", "Values": ["tikit-none"]}]).TotalCount == 0


def test_a_bucket_of_others_is_not_found(tikit: Tikit, client: Client) -> None:
    with pytest.raises(AlreadyExists):
        client.store.make_bucket(BUCKET)
    with pytest.raises(TencentCloudSDKException) as caught:
        tikit.describe_cos_path("no-such-bucket", "")
    assert caught.value.code == "ResourceNotFound"
