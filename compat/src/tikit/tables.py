"""Tables as which tikit's answers are printed, with the headings of the original."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class Table(NamedTuple):
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        """Return the table drawn with ASCII characters. Control characters in cells are escaped."""
        lines = [[_printable(cell) for cell in row] for row in (self.headings, *self.rows)]
        widths = [max(_width(row[column]) for row in lines) for column in range(len(self.headings))]
        rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
        shown = ["|" + "|".join(_centred(cell, width) for cell, width in zip(row, widths)) + "|" for row in lines]
        return "\n".join([rule, shown[0], rule, *shown[1:], *([rule] if self.rows else [])])

    def html(self) -> str:
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.headings)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_printable(cell))}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def framework_table(answer: Any) -> Table:
    rows = [
        (info.Name, version.Environment, ",".join(version.TrainingModes))
        for info in answer.FrameworkInfos
        for version in info.VersionInfos
    ]
    return _table("框架名称 版本 训练模式", rows)


def spec_table(answer: Any) -> Table:
    unit = {"CNY": "元"}.get(getattr(answer, "currency", "CNY"), getattr(answer, "currency", ""))
    rows = [(spec.SpecName, spec.SpecAlias, spec.SpecId) for spec in answer.Specs]
    return Table(("配置名称", "描述", f"每小时价格（单位：{unit}）"), [_cells(row) for row in rows])


def task_table(answer: Any) -> Table:
    headings = (
        "任务ID 名称 训练框架 训练模式 机器来源 占用资源 标签 状态 运行时长 创建者 创建时间 训练开始时间 更新时间"
    )
    rows = [
        (
            task.Id,
            task.Name,
            task.FrameworkName,
            task.TrainingMode,
            {"POSTPAID_BY_HOUR": "按量计费", "PREPAID": "包年包月"}.get(task.ChargeType, task.ChargeType),
            "; ".join(_resources(one) for one in task.ResourceConfigInfos),
            _tags(task.Tags),
            task.Status,
            _duration(task.RuntimeInSeconds or 0),
            task.SubUinName,
            task.CreateTime,
            task.StartTime,
            task.UpdateTime,
        )
        for task in answer.TrainingTaskSet
    ]
    return _table(headings, rows)


def pod_table(answer: Any) -> Table:
    rows = [
        (pod.Name, _resources(pod.ResourceConfigInfo), pod.Status, pod.NodeId, pod.StartTime, pod.EndTime)
        for pod in answer.PodInfoList
    ]
    return _table("实例ID 实例规格 状态 节点ID 启动时间 结束时间", rows)


def log_table(answer: Any) -> Table:
    rows = [(line.Timestamp, line.PodName, line.Message) for line in answer.Content]
    return _table("日志时间 实例名称 日志数据", rows)


def resource_group_table(answer: Any) -> Table:
    rows = [
        (
            group.ResourceGroupId,
            group.ResourceGroupName,
            group.FreeInstance,
            group.TotalInstance,
            f"{_amounts(group.UsedResource)} / {_amounts(group.TotalResource)}",
            _tags(group.TagSet),
        )
        for group in answer.ResourceGroupSet
    ]
    return _table("资源组id 资源组名称 可用节点 总节点 已用/总资源 标签", rows)


def model_table(answer: Any) -> Table:
    rows = [
        (model.TrainingModelId, model.TrainingModelName, _tags(model.Tags), model.CreateTime)
        for model in answer.TrainingModels
    ]
    return _table("模型ID 名称 标签 创建时间", rows)


def version_table(answer: Any) -> Table:
    rows = [
        (
            version.TrainingModelVersionId,
            version.TrainingModelVersion,
            version.AlgorithmFramework,
            version.ReasoningEnvironmentSource,
            version.ReasoningEnvironment,
            version.TrainingModelIndex,
            version.TrainingModelStatus,
            version.CreateTime,
        )
        for version in answer.TrainingModelVersions
    ]
    return _table("版本ID 模型版本 算法框架 运行环境来源 运行环境 模型指标 模型状态 创建时间", rows)


def image_table(answer: Any) -> Table:
    rows = [
        (
            image.ImageId,
            image.ImageName,
            image.Framework,
            image.FrameworkVersion,
            image.ImageUrl,
            ",".join(image.ImageRange or ()),
            ",".join(image.SupportGpuList or ()),
        )
        for image in answer.PlatformImageInfos
    ]
    return _table("镜像ID 镜像名称 算法框架 算法框架版本号 镜像url 适用场景 支持GPU", rows)


def _table(headings: str, rows: Iterable[Sequence[object]]) -> Table:
    return Table(headings.split(), [_cells(row) for row in rows])


def _cells(row: Sequence[object]) -> list[str]:
    return ["" if cell is None else str(cell) for cell in row]


def _tags(tags: Any) -> str:
    return ", ".join(f"{tag.TagKey}:{tag.TagValue}" for tag in tags or ())


def _resources(config: Any) -> str:
    if config is None:
        return ""
    kind = f"{config.InstanceType} " if config.InstanceType else ""
    return f"{config.InstanceNum or 1} * ({kind}{_amounts(config)})"


def _amounts(resource: Any) -> str:
    """Cores, GB and devices. The attributes are in thousandths, MB and hundredths."""
    return f"{(resource.Cpu or 0) / 1000:g}核 {(resource.Memory or 0) / 1024:g}GB {(resource.Gpu or 0) / 100:g}卡"


def _duration(seconds: int) -> str:
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _printable(text: str) -> str:
    is_safe = text.isprintable()
    return text if is_safe else "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _width(text: str) -> int:
    """Columns on a terminal: East Asian wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _centred(text: str, width: int) -> str:
    free = width - _width(text) + 2
    return " " * (free // 2) + text + " " * (free - free // 2)
