"""The objects of tikit's calls, with the attributes of the original. docs/migrate/ti-one.md lists those that are
filled."""

from __future__ import annotations

from typing import Any, Callable, Optional

from tikit.tables import (
    Table,
    framework_table,
    image_table,
    log_table,
    model_table,
    pod_table,
    resource_group_table,
    spec_table,
    task_table,
    version_table,
)
from tikit.tencentcloud.common.abstract_model import AbstractModel


class Tag(AbstractModel):
    FIELDS = "TagKey TagValue"


class TagFilter(AbstractModel):
    FIELDS = "TagKey TagValues"


class Filter(AbstractModel):
    FIELDS = "Name Values Negative Fuzzy"


class CodeRepoConfig(AbstractModel):
    FIELDS = "Id TargetPath"


class DataPoint(AbstractModel):
    FIELDS = "Name Value"


class MetricData(AbstractModel):
    FIELDS = "TaskId Timestamp Uin Epoch Step TotalSteps Points"
    NESTED = {"Points": DataPoint}


class CosPathInfo(AbstractModel):
    FIELDS = "Bucket Region Paths Uin SubUin"


class ImageInfo(AbstractModel):
    FIELDS = (
        "ImageType ImageUrl RegistryRegion RegistryId AllowSaveAllContent ImageName SupportDataPipeline ImageSecret "
        "ImageId RegionScope"
    )


class ResourceConfigInfo(AbstractModel):
    FIELDS = (
        "Role Cpu Memory GpuType Gpu InstanceType InstanceNum InstanceTypeAlias RDMAConfig ArchType "
        "ExtendedResourceList SpecTempId"
    )


class StartCmdInfo(AbstractModel):
    FIELDS = "StartCmd PsStartCmd WorkerStartCmd"


class DataConfig(AbstractModel):
    FIELDS = (
        "MappingPath DataSourceUsage DataSourceType DataSetSource COSSource CFSSource HDFSSource WeDataHDFSSource "
        "AIMarketAlgoPreModelSource GooseFSSource CFSTurboSource AIMarketAlgoDataSource LocalDiskSource CBSSource "
        "HostPathSource"
    )
    NESTED = {"COSSource": CosPathInfo}


class LogConfig(AbstractModel):
    FIELDS = "LogsetId TopicId"


class SchedulePolicy(AbstractModel):
    FIELDS = "PriorityClass BackOffLimit"


class Warning(AbstractModel):
    FIELDS = "Reason Message"


class TrainingTaskSetItem(AbstractModel):
    FIELDS = (
        "Id Name FrameworkName FrameworkVersion FrameworkEnvironment ChargeType ChargeStatus ResourceGroupId "
        "ResourceConfigInfos TrainingMode Status RuntimeInSeconds CreateTime StartTime EndTime Output FailureReason "
        "UpdateTime BillingInfo ResourceGroupName ImageInfo Message Tags CallbackUrl TAIJIInstanceId TAIJIInstanceName "
        "TAIJITemplateId AIMarketTemplateId AIMarketTemplateGroup Uin SubUin SubUinName Warnings ResourceGroupSWType "
        "AppId StartScheduleTime WaitingQueueIndex TaskType"
    )
    NESTED = {
        "ResourceConfigInfos": ResourceConfigInfo,
        "Output": CosPathInfo,
        "ImageInfo": ImageInfo,
        "Tags": Tag,
        "Warnings": Warning,
    }


class TrainingTaskDetail(AbstractModel):
    FIELDS = (
        "Id Name Uin SubUin SubUinName Region FrameworkName FrameworkVersion FrameworkEnvironment ChargeType "
        "ResourceGroupId ResourceConfigInfos Tags TrainingMode CodePackagePath StartCmdInfo DataSource DataConfigs "
        "TuningParameters Output LogEnable LogConfig VpcId SubnetId ImageInfo RuntimeInSeconds CreateTime StartTime "
        "ChargeStatus LatestInstanceId TensorBoardId Remark FailureReason UpdateTime EndTime BillingInfo "
        "ResourceGroupName Message Status CallbackUrl TAIJIInstanceId TAIJIInstanceName TAIJITemplateId "
        "AIMarketTemplateId AIMarketTemplateGroup SchedulePolicy Warnings StartScheduleTime CodeRepos"
    )
    NESTED = {
        **TrainingTaskSetItem.NESTED,
        "CodePackagePath": CosPathInfo,
        "StartCmdInfo": StartCmdInfo,
        "DataConfigs": DataConfig,
        "LogConfig": LogConfig,
        "SchedulePolicy": SchedulePolicy,
        "CodeRepos": CodeRepoConfig,
    }


class GpuInfo(AbstractModel):
    FIELDS = "GpuName"


class PodInfo(AbstractModel):
    FIELDS = "Name IP Status Url StartTime EndTime ResourceConfigInfo GpuNames Gpus NodeId AppId SubUin"
    NESTED = {"ResourceConfigInfo": ResourceConfigInfo, "Gpus": GpuInfo}


class FrameworkVersion(AbstractModel):
    FIELDS = "Version TrainingModes Environment"


class FrameworkInfo(AbstractModel):
    FIELDS = "Name VersionInfos"
    NESTED = {"VersionInfos": FrameworkVersion}


class Spec(AbstractModel):
    FIELDS = (
        "SpecId SpecName SpecAlias Available AvailableRegion SpecFeatures SpecType GpuType IsByYear IsExclusiveSale "
        "Pid CategoryId Cpu Memory Gpu GpuMemory"
    )


class GpuDetail(AbstractModel):
    FIELDS = "Name Value"


class GroupResource(AbstractModel):
    FIELDS = "Cpu Memory Gpu GpuDetailSet GpuMemory"
    NESTED = {"GpuDetailSet": GpuDetail}


class ResourceInfo(AbstractModel):
    FIELDS = "Cpu Memory Gpu GpuType RealGpu RealGpuDetailSet Volume EnableRDMA IdleDisks GpuMemory"
    NESTED = {"RealGpuDetailSet": GpuDetail}


class Instance(AbstractModel):
    FIELDS = (
        "InstanceId UsedResource TotalResource InstanceStatus SubUin CreateTime ExpireTime AutoRenewFlag SpecId "
        "SpecAlias SpecFeatures IsByYear IsExclusiveSale IsExclusiveSaleExpired Pid CategoryId ExclusiveDuration "
        "IsSWFinished SWSpecId CvmResourceExpireTime CvmInstanceId ErrCode ErrMsg AvailableResource HasIdleDisk "
        "InstancePayMode InstanceReleaseSubUin InstanceIP InstanceName AppId"
    )
    NESTED = {"UsedResource": ResourceInfo, "TotalResource": ResourceInfo, "AvailableResource": ResourceInfo}


class ResourceGroup(AbstractModel):
    FIELDS = (
        "ResourceGroupId ResourceGroupName FreeInstance TotalInstance UsedResource TotalResource InstanceSet TagSet "
        "IsBareMetalResourceGroup IsRdma ResourceGroupSWType ScheduleStrategy GpuTypeResource AvailableResource "
        "VirtualGpuSet AppId HasSchedulableNode HasRunnableNode EnableModels SpecTemps PresetResourceSwitch "
        "IsCanModifyPreset"
    )
    NESTED = {
        "UsedResource": GroupResource,
        "TotalResource": GroupResource,
        "AvailableResource": GroupResource,
        "InstanceSet": Instance,
        "TagSet": Tag,
    }


class LogIdentity(AbstractModel):
    FIELDS = "Id Message PodName Timestamp"


class CustomTrainingPoint(AbstractModel):
    FIELDS = "XValue YValue"


class CustomTrainingMetric(AbstractModel):
    FIELDS = "XType Points"
    NESTED = {"Points": CustomTrainingPoint}


class CustomTrainingData(AbstractModel):
    FIELDS = "MetricName Metrics"
    NESTED = {"Metrics": CustomTrainingMetric}


class InferTemplate(AbstractModel):
    FIELDS = "InferTemplateId InferTemplateImage"


class InferTemplateGroup(AbstractModel):
    FIELDS = "Framework FrameworkVersion Groups InferTemplates"
    NESTED = {"InferTemplates": InferTemplate}


class PlatformImageInfo(AbstractModel):
    FIELDS = (
        "Framework ImageType ImageUrl RegistryRegion RegistryId ImageName ImageId FrameworkVersion SupportGpuList "
        "Description ExtraAttributes ImageRange SupportDistributedDeploy RegionScope"
    )


class TrainingModelVersionDTO(AbstractModel):
    FIELDS = (
        "TrainingModelId TrainingModelVersionId TrainingModelVersion TrainingModelSource TrainingModelCreateTime "
        "TrainingModelCreator AlgorithmFramework ReasoningEnvironment ReasoningEnvironmentSource TrainingModelIndex "
        "TrainingJobName TrainingModelCosPath TrainingModelName TrainingJobId ReasoningImageInfo CreateTime "
        "TrainingModelStatus TrainingModelProgress TrainingModelErrorMsg TrainingModelFormat VersionType GPUType "
        "AutoClean ModelCleanPeriod MaxReservedModels ModelHotUpdatePath ReasoningEnvironmentId TrainingJobVersion "
        "TrainingPreference AutoMLTaskId IsQAT ModelAffiliation TrainingJobBackendId TrainingJobBackendName "
        "ModelBackendId ModelBackendName"
    )
    NESTED = {"TrainingModelCosPath": CosPathInfo, "ReasoningImageInfo": ImageInfo}


class TrainingModelDTO(AbstractModel):
    FIELDS = "TrainingModelId TrainingModelName Tags CreateTime TrainingModelVersions ModelAffiliation"
    NESTED = {"Tags": Tag, "TrainingModelVersions": TrainingModelVersionDTO}


class OnlyRequestId(AbstractModel):
    FIELDS = "RequestId"


class PushTrainingMetricsResponse(OnlyRequestId): ...


class StartTrainingTaskResponse(OnlyRequestId): ...


class StopTrainingTaskResponse(OnlyRequestId): ...


class DeleteTrainingTaskResponse(OnlyRequestId): ...


class DeleteTrainingModelResponse(OnlyRequestId): ...


class DeleteTrainingModelVersionResponse(OnlyRequestId): ...


class CreateTrainingTaskResponse(AbstractModel):
    FIELDS = "Id RequestId"


class CreateTrainingModelResponse(AbstractModel):
    FIELDS = "Id TrainingModelVersionId RequestId"


class DescribeTrainingTaskResponse(AbstractModel):
    FIELDS = "TrainingTaskDetail RequestId"
    NESTED = {"TrainingTaskDetail": TrainingTaskDetail}


class DescribeTrainingMetricsResponse(AbstractModel):
    FIELDS = "TaskId Data RequestId"
    NESTED = {"Data": CustomTrainingData}


class DescribeTrainingModelVersionResponse(AbstractModel):
    FIELDS = "TrainingModelVersion RequestId"
    NESTED = {"TrainingModelVersion": TrainingModelVersionDTO}


class Shown(AbstractModel):
    """Prints as a table: text on a terminal, HTML in a notebook."""

    def table(self) -> Table:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


class DescribeTrainingFrameworksResponse(Shown):
    FIELDS = "FrameworkInfos RequestId"
    NESTED = {"FrameworkInfos": FrameworkInfo}

    def table(self) -> Table:
        return framework_table(self)


class DescribeBillingSpecsResponse(Shown):
    FIELDS = "Specs RequestId"
    NESTED = {"Specs": Spec}

    def table(self) -> Table:
        return spec_table(self)


class DescribeTrainingTasksResponse(Shown):
    FIELDS = "TrainingTaskSet TotalCount RequestId"
    NESTED = {"TrainingTaskSet": TrainingTaskSetItem}

    def table(self) -> Table:
        return task_table(self)


class DescribeTrainingTaskPodsResponse(Shown):
    FIELDS = "PodNames TotalCount PodInfoList RequestId"
    NESTED = {"PodInfoList": PodInfo}

    def table(self) -> Table:
        return pod_table(self)


class DescribeBillingResourceGroupsResponse(Shown):
    FIELDS = "TotalCount ResourceGroupSet RequestId"
    NESTED = {"ResourceGroupSet": ResourceGroup}

    def table(self) -> Table:
        return resource_group_table(self)


class DescribeLogsResponse(Shown):
    FIELDS = "Context Content RequestId"
    NESTED = {"Content": LogIdentity}

    def __init__(self) -> None:
        super().__init__()
        self._read_on: Optional[Callable[[str], DescribeLogsResponse]] = None

    def table(self) -> Table:
        return log_table(self)

    def next(self) -> Optional[DescribeLogsResponse]:
        """Read the next page into this object and return it; after the last one, print a message and return None."""
        context: Any = self.Context
        if not context or self._read_on is None:
            print("All logs are displayed! Return None.")
            return None
        page = self._read_on(context)
        for name in self.FIELDS.split():
            setattr(self, name, getattr(page, name))
        return self


class DescribeTrainingModelsResponse(Shown):
    FIELDS = "TrainingModels TotalCount RequestId"
    NESTED = {"TrainingModels": TrainingModelDTO}

    def table(self) -> Table:
        return model_table(self)


class DescribeTrainingModelVersionsResponse(Shown):
    FIELDS = "TrainingModelVersions RequestId"
    NESTED = {"TrainingModelVersions": TrainingModelVersionDTO}

    def table(self) -> Table:
        return version_table(self)


class DescribePlatformImagesResponse(Shown):
    """Has `PlatformImageInfos` for tikit 1.9 and `FrameworkTemplates` for the version of 2022; both are filled."""

    FIELDS = "TotalCount PlatformImageInfos FrameworkTemplates RequestId"
    NESTED = {"PlatformImageInfos": PlatformImageInfo, "FrameworkTemplates": InferTemplateGroup}

    def table(self) -> Table:
        return image_table(self)
