"""What tasks can use: frameworks, machines with prices, resource groups, environments for models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Optional

from danlu.spec.devices import CPU
from danlu.spec.units import parse_device
from danlu.wire.flavors import FlavorOut
from danlu.wire.frameworks import FrameworkOut
from danlu.wire.nodes import NodeOut
from tikit.session import Session, refuse, request_id, translated
from tikit.task_view import TRAINING_MODES, device_model, family, num_devices
from tikit.tencentcloud.tione.v20211111 import models as wire

INFERENCE = "inference"


class Catalogue(Session):
    @translated
    def describe_training_frameworks(self) -> wire.DescribeTrainingFrameworksResponse:
        """List the frameworks for `models.FrameworkInfo.new_system_framework`."""
        by_name: dict[str, list[wire.FrameworkVersion]] = {}
        for one in self._danlu.frameworks.list():
            if one.is_enabled and str(one.purpose) != INFERENCE:
                by_name.setdefault(family(one.title, one.name), []).append(_version(one))
        infos = [wire.FrameworkInfo.new(Name=name, VersionInfos=found) for name, found in by_name.items()]
        return wire.DescribeTrainingFrameworksResponse.new(FrameworkInfos=infos, RequestId=request_id())

    @translated
    def describe_postpaid_training_price(self) -> wire.DescribeBillingSpecsResponse:
        """List the machines for `models.ResourceConfigInfo.new_postpaid`, with hourly prices (`SpecId`, as text)."""
        return self._specs("TRAIN")

    @translated
    def describe_postpaid_reasoning_price(self) -> wire.DescribeBillingSpecsResponse:
        """Same machines and prices as for training: models are served by jobs."""
        return self._specs("INFERENCE")

    @translated
    def describe_resource_groups(
        self, offset: int = 0, limit: int = 20, search_word: str = "", tag_filters: Optional[Sequence[Any]] = None
    ) -> wire.DescribeBillingResourceGroupsResponse:
        """List your projects, each with the holdings and quotas of its jobs. Projects have no tags."""
        names = [one.name for one in self._danlu.projects.list() if search_word in one.name and not tag_filters]
        nodes = list(self._danlu.nodes())
        return wire.DescribeBillingResourceGroupsResponse.new(
            TotalCount=len(names),
            ResourceGroupSet=[self._group(name, nodes) for name in names[offset : offset + limit]],
            RequestId=request_id(),
        )

    def describe_train_resource_groups(
        self, offset: int = 0, limit: int = 20, search_word: str = "", tag_filters: Optional[Sequence[Any]] = None
    ) -> wire.DescribeBillingResourceGroupsResponse:
        """Same as `describe_resource_groups`."""
        return self.describe_resource_groups(offset, limit, search_word, tag_filters)

    def describe_inference_resource_groups(
        self, offset: int = 0, limit: int = 20, search_word: str = "", tag_filters: Optional[Sequence[Any]] = None
    ) -> wire.DescribeBillingResourceGroupsResponse:
        """Same as `describe_resource_groups`."""
        return self.describe_resource_groups(offset, limit, search_word, tag_filters)

    @translated
    def describe_system_reasoning_images(self) -> wire.DescribePlatformImagesResponse:
        """List environments for `models.ReasoningEnvironment.new_system_environment`, formatted as in 1.9 and 2022."""
        found = list(self._inference_environments())
        return wire.DescribePlatformImagesResponse.new(
            TotalCount=len(found),
            PlatformImageInfos=[_image(one) for one in found],
            FrameworkTemplates=_templates(found),
            RequestId=request_id(),
        )

    def describe_infer_templates(self) -> wire.DescribePlatformImagesResponse:
        """Same as `describe_system_reasoning_images`."""
        return self.describe_system_reasoning_images()

    def describe_reasoning_env(self) -> wire.DescribePlatformImagesResponse:
        """Same as `describe_system_reasoning_images`."""
        return self.describe_system_reasoning_images()

    def _environment(self, key: str) -> FrameworkOut:
        """Return the environment with this id, name or template."""
        for one in self._inference_environments():
            if key in (image_id(one.name), one.title, one.name):
                return one
        raise refuse(
            f'image key "{key}" is invalid, please use "describe_system_reasoning_images" to get image key list'
        )

    def _inference_environments(self) -> Iterator[FrameworkOut]:
        return (one for one in self._danlu.frameworks.list() if one.is_enabled and str(one.purpose) == INFERENCE)

    def _specs(self, kind: str) -> wire.DescribeBillingSpecsResponse:
        flavors = [one for one in self._danlu.flavors.list() if one.is_enabled]
        found = wire.DescribeBillingSpecsResponse.new(
            Specs=[_spec(one, kind) for one in flavors], RequestId=request_id()
        )
        found.currency = flavors[0].currency if flavors else "CNY"
        return found

    def _group(self, project: str, nodes: Sequence[NodeOut]) -> wire.ResourceGroup:
        quotas = {one.resource: one for one in self._danlu.quotas.get(project).quotas}
        whole = _sum(nodes)
        used = {name: one.used for name, one in quotas.items()}
        limits = {name: one.quota for name, one in quotas.items() if one.quota is not None}
        total = {name: min(amount, limits.get(name, amount)) for name, amount in whole.items()}
        return wire.ResourceGroup.new(
            ResourceGroupId=project,
            ResourceGroupName=project,
            FreeInstance=sum(not node.num_tasks and node.is_reachable for node in nodes),
            TotalInstance=len(nodes),
            UsedResource=_resource(used),
            TotalResource=_resource(total),
            AvailableResource=_resource({name: max(0.0, amount - used.get(name, 0)) for name, amount in total.items()}),
            InstanceSet=[_instance(node) for node in nodes],
            TagSet=[],
            ResourceGroupSWType="NORMAL",
            ScheduleStrategy="FAIR_SHARE",
        )


def image_id(name: str) -> str:
    """Return the id of an environment, derived from its name."""
    return f"image-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _version(one: FrameworkOut) -> wire.FrameworkVersion:
    modes = [mode for launch in one.launch or TRAINING_MODES if (mode := TRAINING_MODES.get(str(launch)))]
    version = " ".join(one.title.split()[1:]) or one.name
    return wire.FrameworkVersion.new(Version=version, TrainingModes=modes, Environment=one.name)


def _image(one: FrameworkOut) -> wire.PlatformImageInfo:
    return wire.PlatformImageInfo.new(
        Framework=family(one.title, one.name),
        ImageType="SYSTEM",
        ImageUrl=one.image or "",
        ImageName=one.title or one.name,
        ImageId=image_id(one.name),
        FrameworkVersion=" ".join(one.title.split()[1:]),
        SupportGpuList=[],
        Description=one.description,
        ImageRange=["Inference"],
    )


def _templates(found: Sequence[FrameworkOut]) -> list[wire.InferTemplateGroup]:
    return [
        wire.InferTemplateGroup.new(
            Framework=family(one.title, one.name),
            FrameworkVersion=" ".join(one.title.split()[1:]),
            Groups=[],
            InferTemplates=[wire.InferTemplate.new(InferTemplateId=one.name, InferTemplateImage=one.image or "")],
        )
        for one in found
    ]


def _spec(one: FlavorOut, kind: str) -> wire.Spec:
    device = parse_device(one.device)
    words = [f"{one.cpus:g}C" if one.cpus else "", f"{one.memory / 2**30:g}G" if one.memory else ""]
    shape = "".join(words) + (f" {device_model(device)}*{device.count}" if device.type != CPU else "")
    return wire.Spec.new(
        SpecId=str(one.price_per_hour),
        SpecName=one.name,
        SpecAlias=one.description or shape.strip() or one.device,
        Available=one.num_total > 0,
        AvailableRegion=[],
        SpecFeatures=[],
        SpecType="CPU" if device.type == CPU else "GPU",
        GpuType=device_model(device),
        CategoryId=kind,
        Cpu=int((one.cpus or 0) * 1000),
        Memory=(one.memory or 0) >> 20,
        Gpu=num_devices(device) * 100,
        GpuMemory=0,
    )


def _sum(nodes: Sequence[NodeOut]) -> dict[str, float]:
    found: dict[str, float] = {"cpus": sum(node.cpus for node in nodes)}
    found["memory"] = sum(node.memory_bytes for node in nodes)
    for node in nodes:
        for device in node.devices:
            found[device.type] = found.get(device.type, 0) + 1
    return found


def _resource(amounts: dict[str, float]) -> wire.GroupResource:
    """In thousandths of cores, MB, and hundredths of devices."""
    devices = {name: amount for name, amount in amounts.items() if name not in ("cpus", "memory", CPU)}
    return wire.GroupResource.new(
        Cpu=int(amounts.get("cpus", 0) * 1000),
        Memory=int(amounts.get("memory", 0)) >> 20,
        Gpu=int(sum(devices.values()) * 100),
        GpuDetailSet=[wire.GpuDetail.new(Name=name, Value=int(amount * 100)) for name, amount in devices.items()],
    )


def _node_resource(amounts: dict[str, float]) -> wire.ResourceInfo:
    found = _resource(amounts)
    return wire.ResourceInfo.new(
        Cpu=found.Cpu, Memory=found.Memory, Gpu=found.Gpu, RealGpu=found.Gpu, RealGpuDetailSet=found.GpuDetailSet
    )


def _instance(node: NodeOut) -> wire.Instance:
    used = {"cpus": node.cpus_reserved, "memory": float(node.memory_reserved_bytes)}
    held = [device for device in node.devices if device.job is not None]
    for device in held:
        used[device.type] = used.get(device.type, 0) + 1
    return wire.Instance.new(
        InstanceId=node.name,
        InstanceName=node.name,
        InstanceStatus="RUNNING" if node.is_reachable else "EXCEPTION",
        UsedResource=_node_resource(used),
        TotalResource=_node_resource(_sum([node])),
        InstanceIP="",
    )
