"""From data to a registered model, with the calls of tikit. Usage: python journey.py BUCKET [STEPS]"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tikit import models
from tikit.client import Client

sys.path.insert(0, str(Path(__file__).parent / "code"))
from dots import write_images

CODE = Path(__file__).parent / "code"
OVER = ("SUCCEED", "FAILED", "STOPPED", "SUBMIT_FAILED")


def main(bucket: str, steps: int) -> None:
    client = Client("your_secret_id", "your_secret_key", "ap-guangzhou")
    upload(client, bucket)
    print(client.describe_training_frameworks())
    print(client.describe_postpaid_training_price())
    task_id = submit(client, bucket, steps)
    state = wait(client, task_id)
    num_lines = show_logs(client, task_id)
    print(f"{task_id} {state}, {num_lines} lines of log")
    if state != "SUCCEED":
        sys.exit(1)
    show_metrics(client, task_id)
    register(client, bucket, task_id)


def upload(client: Client, bucket: str) -> None:
    """Data and code go into the bucket. A repeated upload overwrites."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        write_images(data)
        client.upload_to_cos(str(data), bucket, "dots-demo/")
    client.upload_to_cos(str(CODE), bucket, "dots-demo/")


def submit(client: Client, bucket: str, steps: int) -> str:
    """Two nodes, one V100 each, PyTorch DDP."""
    framework = models.FrameworkInfo.new_system_framework("PYTORCH", "torch1.9-py3.8-cuda11.1-gpu", "DDP")
    machines = models.ResourceConfigInfo.new_postpaid("TI.GN10.2XLARGE40.POST", 2)
    data = models.TrainingDataConfig.new_cos_data({f"{bucket}/dots-demo/data/": "/opt/ml/input/data/dots"})
    task = client.create_training_task(
        "dots",
        framework,
        f"{bucket}/output/",
        machines,
        input_data_config=data,
        code_package_path=f"{bucket}/dots-demo/code/",
        worker_start_cmd="sh start_cloud.sh",
        tuning_parameters_dict={"steps": steps},
    )
    return str(task.Id)


def wait(client: Client, task_id: str) -> str:
    while True:
        state = str(client.describe_training_task(task_id).TrainingTaskDetail.Status)
        if state in OVER:
            return state
        time.sleep(0.5)


def show_logs(client: Client, task_id: str) -> int:
    """Page through the logs of both nodes; print the first page."""
    page = client.describe_train_logs(f"{task_id}*", order="ASC")
    print(page)
    num_lines = 0
    while page is not None:
        num_lines += len(page.Content)
        page = page.next()
    return num_lines


def show_metrics(client: Client, task_id: str) -> None:
    for data in client.describe_training_metrics(task_id).Data:
        by_epoch = next((one for one in data.Metrics if one.XType == "EPOCH"), data.Metrics[0])
        print(data.MetricName, [f"{point.YValue:.3f}" for point in by_epoch.Points])


def register(client: Client, bucket: str, task_id: str) -> None:
    """The model that the task left, with the environment that it runs in later."""
    print(client.describe_system_reasoning_images())
    environment = models.ReasoningEnvironment.new_system_environment("torch1.9.0-py38-cu111")
    where = models.CosPathInfo(bucket, f"output/{task_id}/", "ap-guangzhou")
    model = client.create_model_by_task("dots-model", task_id, environment, where, "PYTORCH")
    print(client.describe_training_model_versions(model.Id))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 600)
