"""Jobs of other platforms become jobs of Danlu; fields that are not known are named."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from danlu.client.jobs.foreign import PLATFORMS, convert, read_foreign_job
from danlu.errors import InvalidSpec
from danlu.spec.job import parse_job

COMMANDS = {"StartCmd": "sh start.sh"}
TI_ONE: dict[str, Any] = {
    "Name": "classify",
    "ChargeType": "POSTPAID_BY_HOUR",
    "ResourceConfigInfos": [{"Role": "WORKER", "InstanceType": "TI.GN10.2XLARGE40.POST", "InstanceNum": 2}],
    "FrameworkName": "PYTORCH",
    "FrameworkEnvironment": "torch1.9-py3.8-cuda11.1-gpu",
    "TrainingMode": "DDP",
    "CodePackagePath": {"Bucket": "demo-1", "Region": "ap-guangzhou", "Paths": ["code/"]},
    "EncodedStartCmdInfo": {"StartCmdInfo": base64.b64encode(json.dumps(COMMANDS).encode()).decode()},
    "DataConfigs": [
        {
            "MappingPath": "/opt/ml/input/data/a",
            "DataSourceType": "COS",
            "COSSource": {"Bucket": "demo-1", "Paths": ["data/"]},
        }
    ],
    "Output": {"Bucket": "demo-1", "Paths": ["output/"]},
    "TuningParameters": '{"lr": 0.1}',
    "Tags": [{"TagKey": "team", "TagValue": "vision"}],
    "LogEnable": False,
    "SchedulePolicy": {"BackOffLimit": 2},
}
APULIS: dict[str, Any] = {
    "jobName": "resnet",
    "vcName": "vision",
    "jobtrainingtype": "PSDistJob",
    "preemptionAllowed": "True",
    "gpuType": "huawei_npu_arm64",
    "numpsworker": 2,
    "numps": 1,
    "resourcegpu": 8,
    "image": "registry.example/mindspore:1",
    "cmd": "source /pod.env && ./run.sh",
    "env": [{"name": "A", "value": "1"}],
    "plugins": {"imagePull": [{"registry": "https://registry.example", "username": "ann", "password": "p"}]},
    "jobPriority": 110,
    "hostNetwork": True,
    "endpoints": ["ssh", "ipython", "vscode", {"name": "port-40001", "podPort": 40001}],
    "interactivePorts": "40002,40001",
}
MODELARTS: dict[str, Any] = {
    "job_name": "bert",
    "code_dir": "/demo/code/bert/",
    "boot_file": "/demo/code/bert/src/train.py",
    "inputs": "obs://demo/data/",
    "hyperparameters": [{"label": "epoch_size", "value": "5"}],
    "framework_type": "Ascend-Powered-Engine",
    "train_instance_type": "modelarts.kat1.8xlarge",
    "train_instance_count": 2,
    "out_base_url": "/demo/out/",
}


def test_ti_one() -> None:
    found = convert(TI_ONE, "ti-one")
    job = parse_job(found.values)
    assert (job.name, job.command, job.nodes) == ("classify", "sh start.sh", 2)
    assert (job.launch, job.contract) == ("ddp", "tione")
    assert (job.flavor, job.framework) == ("TI.GN10.2XLARGE40.POST", "torch1.9-py3.8-cuda11.1-gpu")
    assert job.data == {"store://demo-1/data/": "/opt/ml/input/data/a"}
    assert (job.output, job.code and job.code.store) == ("store://demo-1/output/", "store://demo-1/code/")
    assert (job.hyperparameters, job.tags, job.retry.max) == ({"lr": 0.1}, {"team": "vision"}, 2)
    assert set(found.unused) == {"ChargeType", "FrameworkName", "CodePackagePath.Region"}


def test_ti_one_with_parameter_servers() -> None:
    rows = [{"Role": "WORKER", "Cpu": 2000, "Memory": 4096, "InstanceNum": 2}, {"Role": "PS", "InstanceType": "small"}]
    values = {**TI_ONE, "TrainingMode": "PS_WORKER", "ResourceConfigInfos": rows, "EncodedStartCmdInfo": None}
    values["StartCmdInfo"] = {"WorkerStartCmd": "sh w.sh", "PsStartCmd": "sh p.sh"}
    job = parse_job(convert(values, "ti-one").values)
    assert {name: (role.command, role.count) for name, role in job.roles.items()} == {
        "worker": ("sh w.sh", 2),
        "ps": ("sh p.sh", 1),
    }
    assert (job.roles["worker"].resources.cpus, job.roles["worker"].resources.memory) == (2.0, 4 << 30)


def test_ti_one_with_a_ray_cluster() -> None:
    rows = [{"Role": "HEAD"}, {"Role": "WORKER", "InstanceNum": 2, "Cpu": 2000}, {"Role": "WORKER"}]
    job = parse_job(convert({**TI_ONE, "TrainingMode": "RAY", "ResourceConfigInfos": rows}, "ti-one").values)
    assert {name: role.count for name, role in job.roles.items()} == {"launcher": 1, "worker": 2, "worker2": 1}
    assert (job.launch, job.roles["worker"].resources.cpus) == ("ray", 2.0)
    assert job.roles["launcher"].command == "sh start.sh"


def test_apulis() -> None:
    found = convert(APULIS, "apulis")
    job = parse_job(found.values)
    assert (job.name, job.project, job.nodes, job.launch, job.contract) == ("resnet", "vision", 2, "ascend", "apulis")
    assert (str(job.resources.device), job.preemptible, job.priority) == ("npu:8", True, 10)
    assert (job.image, job.secrets, job.env) == ("registry.example/mindspore:1", {"IMAGE_PASSWORD": "p"}, {"A": "1"})
    assert job.endpoints == ("40002", "40001", "ssh", "jupyter")
    assert set(found.unused) == {"endpoints (vscode)", "numps", "hostNetwork", "plugins.imagePull.0.registry"}


def test_modelarts() -> None:
    job = parse_job(convert(MODELARTS, "modelarts").values)
    assert (job.command, job.nodes, str(job.resources.device)) == (("python3", "-u", "src/train.py"), 2, "npu:8")
    assert job.data == {"store://demo/data/": "data_url"}
    assert (job.code and job.code.store, job.output) == ("store://demo/code/bert/", "store://demo/out/")
    assert job.hyperparameters == {"epoch_size": "5"}


@pytest.mark.parametrize(
    ("platform", "values", "told"),
    [
        ("ti-one", {**TI_ONE, "Colour": 1, "Output": {"Bucket": "b12", "Shape": 1}}, ["Colour", "Output.Shape"]),
        ("apulis", {**APULIS, "env": [{"name": "A", "value": "1", "kind": "x"}]}, ["env.0.kind"]),
        ("modelarts", {**MODELARTS, "train_instance_typ": "x"}, ["train_instance_typ"]),
    ],
)
def test_all_fields_that_are_not_known_are_named(platform: str, values: dict[str, Any], told: list[str]) -> None:
    with pytest.raises(InvalidSpec) as caught:
        convert(values, platform)
    assert sorted(caught.value.fields) == told
    assert all(name in caught.value.message for name in told)


@pytest.mark.parametrize(
    ("platform", "change", "told"),
    [
        ("ti-one", {"TrainingMode": "X"}, "TrainingMode: expected one of DDP"),
        ("ti-one", {"DataConfigs": [{"DataSourceType": "CFS"}]}, "DataConfigs.0.DataSourceType: expected COS"),
        ("ti-one", {"TuningParameters": "{"}, "TuningParameters: expected JSON"),
        ("ti-one", {"Tags": {}}, "Tags: expected a list"),
        ("ti-one", {"EncodedStartCmdInfo": {"StartCmdInfo": "!"}}, "expected JSON in base64"),
        ("apulis", {"jobtrainingtype": "Big"}, "expected RegularJob or PSDistJob"),
        ("apulis", {"endpoints": "ssh"}, "endpoints: expected a list"),
        ("apulis", {"resourcegpu": "many"}, "resourcegpu: expected a whole number"),
        ("modelarts", {"boot_file": "/other/train.py"}, "boot_file: expected a file below"),
        ("modelarts", {"train_instance_type": "huge"}, "train_instance_type: expected"),
    ],
)
def test_values_that_cannot_be_used(platform: str, change: dict[str, Any], told: str) -> None:
    base = {"ti-one": TI_ONE, "apulis": APULIS, "modelarts": MODELARTS}[platform]
    with pytest.raises(InvalidSpec) as caught:
        convert({**base, **change}, platform)
    assert told in caught.value.message


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps(TI_ONE))
    assert read_foreign_job(file, "ti-one").values["name"] == "classify"
    file.write_text("{")
    for platform in PLATFORMS:
        with pytest.raises(InvalidSpec, match="is not JSON"):
            read_foreign_job(file, platform)
    with pytest.raises(InvalidSpec, match="no platform 'slurm'"):
        convert({}, "slurm")
    with pytest.raises(InvalidSpec, match="expected an object"):
        convert([], "ti-one")  # type: ignore[arg-type]
