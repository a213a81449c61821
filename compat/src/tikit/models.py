"""`from tikit import models`: objects that describe training tasks and models."""

from __future__ import annotations

import os
from typing import Any, Optional

from tikit.tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException
from tikit.tencentcloud.tione.v20211111.models import CodeRepoConfig, DataPoint, Filter, MetricData, Tag, TagFilter

__all__ = [
    "CodeRepoConfig",
    "CosPathInfo",
    "DataPoint",
    "Filter",
    "FrameworkInfo",
    "MetricData",
    "ReasoningEnvironment",
    "ResourceConfigInfo",
    "Tag",
    "TagFilter",
    "TrainingDataConfig",
]

POSTPAID, PREPAID = "POSTPAID_BY_HOUR", "PREPAID"


class ResourceConfigInfo:
    """Machines of a task: a named instance type (a flavor of Danlu), or cores, memory and devices."""

    def __init__(
        self,
        charge_type: str,
        instance_type: Optional[str] = None,
        instance_num: Optional[int] = None,
        cpu: Optional[int] = None,
        memory: Optional[int] = None,
        gpu_type: Optional[str] = None,
        gpu: Optional[int] = None,
    ) -> None:
        self.ChargeType = charge_type
        self.InstanceType = instance_type
        self.InstanceNum = instance_num
        self.Cpu = cpu
        self.Memory = memory
        self.GpuType = gpu_type
        self.Gpu = gpu

    @staticmethod
    def new_postpaid(instance_type: str, instance_num: int = 1) -> ResourceConfigInfo:
        """This many nodes of a named flavor: `new_postpaid("TI.GN10.2XLARGE40.POST", 2)`."""
        return ResourceConfigInfo(POSTPAID, instance_type=instance_type, instance_num=instance_num)

    @staticmethod
    def new_prepaid(
        cpu: float = 0, memory: float = 0, gpu: float = 0, gpu_type: Optional[str] = None, instance_num: int = 1
    ) -> ResourceConfigInfo:
        """Nodes with this many cores, GB of memory and devices each. Attributes are in thousandths, MB, hundredths."""
        return ResourceConfigInfo(
            PREPAID,
            instance_num=instance_num,
            cpu=int(cpu * 1000),
            memory=int(memory * 1024),
            gpu_type=gpu_type,
            gpu=int(gpu * 100),
        )


class FrameworkInfo:
    """The environment of a task, and its mode of distributed training."""

    def __init__(
        self,
        name: str,
        training_mode: str,
        framework_environment: Optional[str] = None,
        image_type: Optional[str] = None,
        image_url: Optional[str] = None,
        registry_region: Optional[str] = None,
        registry_id: Optional[str] = None,
        user_name: Optional[str] = None,
        passwd: Optional[str] = None,
    ) -> None:
        self.Name = name
        self.TrainingMode = training_mode
        self.FrameworkEnvironment = framework_environment
        self.ImageType = image_type
        self.ImageUrl = image_url
        self.RegistryRegion = registry_region
        self.RegistryId = registry_id
        self.UserName = user_name
        self.Passwd = passwd

    @staticmethod
    def new_system_framework(framework_name: str, framework_environment: str, training_mode: str) -> FrameworkInfo:
        """A framework of the platform, see `describe_training_frameworks`."""
        return FrameworkInfo(framework_name, training_mode, framework_environment=framework_environment)

    @staticmethod
    def new_custom(
        training_mode: str,
        image_type: str,
        image_url: str,
        registry_region: Optional[str] = None,
        registry_id: Optional[str] = None,
        user_name: Optional[str] = None,
        passwd: Optional[str] = None,
    ) -> FrameworkInfo:
        """A custom image; user name and password if its registry requires them."""
        return FrameworkInfo(
            "CUSTOM",
            training_mode,
            image_type=image_type,
            image_url=image_url,
            registry_region=registry_region,
            registry_id=registry_id,
            user_name=user_name,
            passwd=passwd,
        )

    @staticmethod
    def new_custom_image(
        image_type: str, image_url: str, registry_region: Optional[str] = None, registry_id: Optional[str] = None
    ) -> FrameworkInfo:
        return FrameworkInfo.new_custom("", image_type, image_url, registry_region, registry_id)


class TrainingDataConfig:
    """Source of a task's data, and its path in the task."""

    def __init__(self) -> None:
        self.DataSource: Optional[str] = None
        """COS or another type of source."""

        self.DataConfigDict: dict[str, str] = {}
        """Source -> path in the task."""

        self.Details: dict[str, Any] = {}

    @staticmethod
    def new_cos_data(cos_str_target_dict: dict[str, str]) -> TrainingDataConfig:
        """`{"<bucket>/<path>/": "/path/in/the/task"}`; several entries are allowed."""
        return _data("COS", dict(cos_str_target_dict))

    @staticmethod
    def new_mount_cos(cos_str: str, target_path: str) -> TrainingDataConfig:
        return _data("COS", {cos_str: target_path})

    @staticmethod
    def new_mount_cosfs(cos_str: str, target_path: str) -> TrainingDataConfig:
        """Same as `new_mount_cos`: the files are fetched before the task starts."""
        return _data("COS", {cos_str: target_path})

    @staticmethod
    def new_dataset(id_target_dict: dict[str, str]) -> TrainingDataConfig:
        return _data("DATASET", dict(id_target_dict))

    @staticmethod
    def new_dataset_mount(dataset_id: str, target_path: str) -> TrainingDataConfig:
        return _data("DATASET", {dataset_id: target_path})

    @staticmethod
    def new_mount_cfs(cfs_id: str, source_path: str, target_path: str) -> TrainingDataConfig:
        return _data("CFS", {source_path: target_path}, id=cfs_id)

    @staticmethod
    def new_mount_cfs_turbofs(cfs_turbofs_id: str, source_path: str, target_path: str) -> TrainingDataConfig:
        return _data("CFS_TURBO", {source_path: target_path}, id=cfs_turbofs_id)

    @staticmethod
    def new_mount_hdfs(hdfs_id: str, source_path: str, target_path: str) -> TrainingDataConfig:
        return _data("HDFS", {source_path: target_path}, id=hdfs_id)

    @staticmethod
    def new_mount_wedata_hdfs(wedata_id: str, source_path: str) -> TrainingDataConfig:
        return _data("WEDATA_HDFS", {source_path: ""}, id=wedata_id)

    @staticmethod
    def new_mount_goosefs(goosefs_id: str, source_path: str, namespace: str, target_path: str) -> TrainingDataConfig:
        return _data("GOOSEFS", {source_path: target_path}, id=goosefs_id, namespace=namespace)

    @staticmethod
    def new_mount_goosefsx(goosefsx_id: str, goosefsx_path: str, target_path: str) -> TrainingDataConfig:
        return _data("GOOSEFSX", {goosefsx_path: target_path}, id=goosefsx_id)

    @staticmethod
    def new_algo_model(ai_market_algo_id: str, ai_market_algo_group: str, target_path: str) -> TrainingDataConfig:
        return _data("AI_MARKET", {ai_market_algo_id: target_path}, group=ai_market_algo_group)

    @staticmethod
    def new_ai_market_algo(ai_market_algo_id: str, target_path: str) -> TrainingDataConfig:
        return _data("AI_MARKET", {ai_market_algo_id: target_path})


def _data(source: str, targets: dict[str, str], **details: Any) -> TrainingDataConfig:
    made = TrainingDataConfig()
    made.DataSource, made.DataConfigDict, made.Details = source, targets, details
    return made


class ReasoningEnvironment:
    """The environment that a trained model is served in."""

    def __init__(
        self,
        source: str,
        image_key: Optional[str] = None,
        image_type: Optional[str] = None,
        image_url: Optional[str] = None,
        registry_region: Optional[str] = None,
        registry_id: Optional[str] = None,
    ) -> None:
        self.Source = source
        self.ImageKey = image_key
        self.ImageType = image_type
        self.ImageUrl = image_url
        self.RegistryRegion = registry_region
        self.RegistryId = registry_id

    @staticmethod
    def new_system_environment(image_key: str) -> ReasoningEnvironment:
        """One of `describe_system_reasoning_images`, by id, name or template."""
        return ReasoningEnvironment("SYSTEM", image_key=image_key)

    @staticmethod
    def new_custom_environment(
        image_type: str, image_url: str, registry_region: Optional[str] = None, registry_id: Optional[str] = None
    ) -> ReasoningEnvironment:
        if image_type not in ("SYSTEM", "CCR", "TCR"):
            raise TencentCloudSDKException(message=f"image_type: expected SYSTEM, CCR or TCR, got {image_type!r}")
        return ReasoningEnvironment(
            "CUSTOM",
            image_type=image_type,
            image_url=image_url,
            registry_region=registry_region,
            registry_id=registry_id,
        )


class CosPathInfo:
    """A path in a bucket."""

    def __init__(
        self,
        bucket: str,
        path: str,
        region: Optional[str] = None,
        uin: Optional[str] = None,
        sub_uin: Optional[str] = None,
    ) -> None:
        self.Bucket = bucket
        self.Path = path
        self.Region = os.environ.get("REGION") if region is None else region
        self.Uin = uin
        self.SubUin = sub_uin
