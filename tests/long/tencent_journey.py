"""Run by Tencent Cloud's own SDK: python tencent_journey.py URL SECRET_ID SECRET_KEY BUCKET STEPS FOLDER

The steps of examples/ti_one/journey.py as they are, and calls that the journey does not make. Prints JSON last."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tikit import client as client_module
from tikit import models
from tikit.tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "ti_one"))
journey: Any = importlib.import_module("journey")
PART = 1 << 20


def connect(url: str, secret_id: str, secret_key: str) -> Any:
    """What docs/migrate/ti-one.md says: the endpoint, and where the storage is."""
    client: Any = client_module.Client(secret_id, secret_key, "ap-guangzhou", tione_endpoint=f"{url}/compat/tencent")
    scheme, _, host = url.partition("://")
    conf = client._cos_client.get_conf()
    conf.set_ip_port(f"{host}/compat/tencent/cos")
    conf._service_domain = f"{host}/compat/tencent/cos"
    conf._scheme = scheme
    return client


def failure(call: Callable[..., Any], *args: Any) -> Any:
    try:
        call(*args)
    except TencentCloudSDKException as error:
        return [error.get_code(), error.get_message(), bool(error.get_request_id())]
    return None


def storage(client: Any, bucket: str, folder: Path) -> dict[str, Any]:
    """Large and small files there and back, and what is deleted."""
    tree = folder / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "large.bin").write_bytes(bytes(range(256)) * (4 * PART // 256) + b"end")
    (tree / "inner" / "中文 name.txt").write_text("small")
    client.upload_to_cos(str(tree), bucket, "sdk/")
    client.upload_to_cos(str(tree / "inner" / "中文 name.txt"), bucket, "sdk/")
    client.upload_to_cos(str(tree / "inner" / "中文 name.txt"), bucket, "sdk/")
    os.chdir(folder)  # the SDK makes absolute paths relative
    client.download_from_cos(bucket, "sdk/tree/", "back")
    same = all(
        (folder / "back" / file.relative_to(tree)).read_bytes() == file.read_bytes()
        for file in tree.rglob("*")
        if file.is_file()
    )
    listed = sorted(one["Key"] for one in client.get_cos_sub_files(bucket, "sdk/"))
    page = client.describe_cos_path(bucket, "sdk/")
    found = {
        "same": same,
        "listed": listed,
        "folders": [one["Prefix"] for one in page["CommonPrefixes"]],
        "buckets": [one["Name"] for one in client.describe_cos_buckets()["Buckets"]["Bucket"]],
        "exists": [client.check_object_exist(bucket, key) for key in ("sdk/tree/large.bin", "sdk/tree/", "sdk/none")],
        "is_dir": client.is_cos_dir(bucket, "sdk"),
    }
    client.delete_cos_path(bucket, "sdk/")
    found["left"] = client.get_cos_sub_files(bucket, "sdk/")
    return found


def rest(client: Any, bucket: str, folder: Path) -> dict[str, Any]:
    """Calls about the task and the model that the journey left."""
    task_id = client.describe_training_tasks().TrainingTaskSet[0].Id
    client.save_log(str(folder / "logs"), service="TRAIN", id=task_id)
    lines = sum(len(file.read_text().splitlines()) for file in (folder / "logs").rglob("*.log"))
    (model,) = client.describe_training_models().TrainingModels
    versions = client.describe_training_model_versions(model.TrainingModelId).TrainingModelVersions
    environment = models.ReasoningEnvironment.new_system_environment("torch1.9.0-py38-cu111")
    second = client.create_model_version_by_cos(
        model.TrainingModelId, "PYTORCH", f"{bucket}/output/{task_id}/model/", environment, "PYTORCH"
    )
    client.delete_training_model_version(second.TrainingModelVersionId)
    client.start_training_task(task_id)
    client.stop_training_task(task_id)
    hdfs = models.TrainingDataConfig.new_mount_hdfs("hdfs-1", "/data", "/opt/ml/input/data")
    framework = models.FrameworkInfo.new_system_framework("PYTORCH", "torch1.9-py3.8-cuda11.1-gpu", "DDP")
    machines = models.ResourceConfigInfo.new_postpaid("TI.GN10.2XLARGE40.POST", 1)

    def with_hdfs() -> None:
        client.create_training_task(
            "hdfs", framework, f"{bucket}/output/", machines, input_data_config=hdfs, worker_start_cmd="true"
        )

    wrong = connect(sys.argv[1], sys.argv[2], sys.argv[3] + "x")
    return {
        "task": task_id,
        "pods": client.describe_training_task_pods(task_id).TotalCount,
        "saved_lines": lines,
        "version": versions[0].TrainingModelVersion,
        "environment": versions[0].ReasoningEnvironment,
        "second": second.TrainingModelVersionId,
        "groups": [one.ResourceGroupId for one in client.describe_resource_groups().ResourceGroupSet],
        "beyond": failure(client.describe_notebooks),
        "missing": failure(client.describe_training_task, "train-1"),
        "hdfs": failure(with_hdfs),
        "wrong_secret": failure(wrong.describe_training_frameworks),
    }


def fields() -> dict[str, list[str]]:
    """Class of the SDK's answers -> its attributes."""
    from tikit.tencentcloud.tione.v20211111 import models as wire

    found = {}
    for name, kind in vars(wire).items():
        if isinstance(kind, type) and hasattr(kind, "_deserialize"):
            found[name] = sorted(field[1:] for field in vars(kind()) if field != "_headers")
    return found


def main() -> None:
    url, secret_id, secret_key, bucket, steps, folder = sys.argv[1:]
    client = connect(url, secret_id, secret_key)
    journey.Client = lambda *_args: client
    files = storage(client, bucket, Path(folder))
    journey.main(bucket, int(steps))
    print(json.dumps({"storage": files, "rest": rest(client, bucket, Path(folder)), "fields": fields()}))


if __name__ == "__main__":
    main()
