"""What `create_training_task` makes of its arguments, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from danlu.spec.job import parse_job
from tikit import models
from tikit.task_spec import TrainingTask, data_of, job_of, takes_old_order
from tikit.tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException

TORCH = models.FrameworkInfo.new_system_framework("PYTORCH", "torch1.9-py3.8-cuda11.1-gpu", "DDP")
V100 = models.ResourceConfigInfo.new_postpaid("TI.GN10.2XLARGE40.POST", 2)
DATA = models.TrainingDataConfig.new_cos_data({"demo-1/data/": "/opt/ml/input/data/images"})


def make_task(mode: str = "DDP", **more: Any) -> TrainingTask:
    framework = models.FrameworkInfo.new_system_framework("PYTORCH", "torch", mode)
    return TrainingTask(
        **{"name": "t", "framework": framework, "worker_resource": V100, "worker_start_cmd": "sh a.sh", **more}
    )


def test_the_task_of_the_guide() -> None:
    task = make_task(
        framework=TORCH,
        cos_output="demo-1/output/",
        code_package_path="demo-1/code/",
        input_data_config=DATA,
        tags=[{"TagKey": "team", "TagValue": "vision"}],
        tuning_parameters={"lr": 0.01},
        remark="first",
        restart_limit=2,
    )
    job = job_of(task)
    assert job == {
        "name": "t",
        "launch": "ddp",
        "contract": "tione",
        "command": "sh a.sh",
        "nodes": 2,
        "flavor": "TI.GN10.2XLARGE40.POST",
        "framework": "torch1.9-py3.8-cuda11.1-gpu",
        "env": {"TI_FRAMEWORK_NAME": "PYTORCH", "TI_TASK_REMARK": "first"},
        "tags": {"team": "vision"},
        "data": {"store://demo-1/data/": "/opt/ml/input/data/images"},
        "hyperparameters": {"lr": 0.01},
        "output": "store://demo-1/output/",
        "code": {"store": "store://demo-1/code/"},
        "retry": {"max": 2, "on": ["exit_code", "killed_by_signal", "out_of_memory", "lost", "start_failed"]},
    }
    parse_job(job)


@pytest.mark.parametrize(
    ("mode", "launch"),
    [("DDP", "ddp"), ("MPI", "mpi"), ("HOROVOD", "horovod"), ("SPARK", "plain"), ("", "plain")],
)
def test_modes(mode: str, launch: str) -> None:
    resource = models.ResourceConfigInfo.new_postpaid("small", 1)
    assert parse_job(job_of(make_task(mode, worker_resource=resource))).launch == launch


def test_parameter_servers_are_a_role() -> None:
    ps = models.ResourceConfigInfo.new_postpaid("small", 1)
    job = parse_job(job_of(make_task("PS_WORKER", ps_resource=ps, ps_start_cmd="sh ps.sh")))
    assert {name: (role.command, role.count, role.flavor) for name, role in job.roles.items()} == {
        "worker": ("sh a.sh", 2, "TI.GN10.2XLARGE40.POST"),
        "ps": ("sh ps.sh", 1, "small"),
    }


def test_a_ray_cluster_has_a_head_and_groups_of_workers() -> None:
    head, other = (models.ResourceConfigInfo.new_postpaid(name, 1) for name in ("small", "large"))
    values = job_of(make_task("RAY", worker_resource=None, head_resource=head, worker_resource_group=[V100, other]))
    job = parse_job(values)
    assert {name: (role.count, role.flavor) for name, role in job.roles.items()} == {
        "launcher": (1, "small"),
        "worker": (2, "TI.GN10.2XLARGE40.POST"),
        "worker2": (1, "large"),
    }
    assert (job.launch, job.roles["launcher"].command) == ("ray", "sh a.sh")
    only = parse_job(job_of(make_task("RAY", head_resource=head)))
    assert list(only.roles) == ["launcher", "worker"]
    alone = parse_job(job_of(make_task("RAY", worker_resource=None, head_resource=head)))
    assert (list(alone.roles), alone.nodes) == (["launcher"], 1)


def test_machines_by_their_parts() -> None:
    resource = models.ResourceConfigInfo.new_prepaid(cpu=8, memory=40, gpu=1, gpu_type="V100", instance_num=2)
    assert (resource.Cpu, resource.Memory, resource.Gpu) == (8000, 40960, 100)
    job = job_of(make_task(worker_resource=resource))
    assert (job["nodes"], job["resources"]) == (2, {"cpus": 8.0, "memory": "40960MiB", "device": "gpu:v100:1"})
    ascend = models.ResourceConfigInfo.new_prepaid(gpu=8, gpu_type="Ascend910")
    assert job_of(make_task(worker_resource=ascend))["resources"] == {"device": "npu:ascend910:8"}


def test_an_image_with_a_password() -> None:
    image = models.FrameworkInfo.new_custom("DDP", "CCR", "registry.example/a:1", user_name="ann", passwd="s3cret")
    job = parse_job(job_of(make_task(framework=image)))
    assert job.image == "registry.example/a:1"
    assert job.image_login is not None
    assert job.secrets == {job.image_login.secret: "s3cret"}


@pytest.mark.parametrize(
    ("mode", "more", "told"),
    [
        ("XYZ", {}, "expected one of PS_WORKER, DDP, MPI, HOROVOD, SPARK, RAY, got 'XYZ'"),
        ("PS_WORKER", {}, "PS_WORKER needs ps_resource"),
        ("DDP", {"ps_resource": V100}, "only PS_WORKER has parameter servers"),
        (
            "PS_WORKER",
            {"ps_resource": models.ResourceConfigInfo.new_prepaid(1), "ps_start_cmd": "x"},
            "POSTPAID_BY_HOUR",
        ),
        ("SPARK", {}, "SPARK runs on one node, got InstanceNum 2"),
        ("DDP", {"restart_limit": 11}, "restart_limit: expected 0 to 10, got 11"),
        ("DDP", {"cos_output": "nothing"}, "cos string"),
        ("DDP", {"worker_resource": models.ResourceConfigInfo.new_prepaid(gpu=0.5)}, "expected whole devices, got 0.5"),
    ],
)
def test_what_cannot_be_meant(mode: str, more: dict[str, Any], told: str) -> None:
    with pytest.raises(TencentCloudSDKException, match=told):
        job_of(make_task(mode, **more))


@pytest.mark.parametrize(
    "config",
    [
        models.TrainingDataConfig.new_mount_cfs("cfs-1", "/data", "/opt/ml/input/data"),
        models.TrainingDataConfig.new_mount_cfs_turbofs("cfs-1", "/data", "/opt/ml/input/data"),
        models.TrainingDataConfig.new_mount_hdfs("hdfs-1", "/data", "/opt/ml/input/data"),
        models.TrainingDataConfig.new_mount_goosefs("g-1", "/data", "n", "/opt/ml/input/data"),
        models.TrainingDataConfig.new_dataset({"ds-1": "/opt/ml/input/data"}),
    ],
)
@pytest.mark.parametrize("kind", [TencentCloudSDKException, AssertionError])
def test_data_that_cannot_be_mounted_says_so(config: models.TrainingDataConfig, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"{config.DataSource}.*upload_to_cos"):
        data_of([DATA, config])


def test_data_from_several_places() -> None:
    more = models.TrainingDataConfig.new_mount_cosfs("demo-1/more/", "/opt/ml/input/more")
    assert data_of([DATA, more]) == {
        "store://demo-1/data/": "/opt/ml/input/data/images",
        "store://demo-1/more/": "/opt/ml/input/more",
    }


class TestOldOrder:
    @takes_old_order
    def called(self, *args: Any, **named: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, named

    def test_arguments_of_2022_are_told_by_their_types(self) -> None:
        first = ("t", TORCH, "demo-1/out/", V100, "demo-1/code/")
        assert self.called(*first, V100)[1]["ps_resource"] is V100
        assert self.called(*first, None, DATA)[1]["input_data_config"] is DATA
        assert self.called(*first, None, [DATA], "sh a.sh")[1]["worker_start_cmd"] == "sh a.sh"
        assert self.called(*first, None, None, "sh a.sh", tags=[])[1] == {
            **dict(zip(("name", "framework", "cos_output", "worker_resource", "code_package_path"), first)),
            "ps_resource": None,
            "input_data_config": None,
            "worker_start_cmd": "sh a.sh",
            "tags": [],
        }

    def test_arguments_of_today_stay_where_they_are(self) -> None:
        now = ("t", TORCH, "demo-1/out/", V100, "demo-1/code/", [], V100, V100, [V100], DATA, "sh a.sh")
        assert self.called(*now) == (now, {})

    def test_an_argument_twice(self) -> None:
        with pytest.raises(TypeError, match="multiple values for argument 'tags'"):
            self.called("t", TORCH, "o/", V100, "c/", V100, None, "a", "b", [], tags=[])
