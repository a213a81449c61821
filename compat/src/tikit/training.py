"""Training tasks: Danlu jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Callable, Optional

from danlu.wire.jobs import JobSummary
from tikit import task_view
from tikit.models import FrameworkInfo, ResourceConfigInfo
from tikit.session import Session, refuse, request_id, translated
from tikit.task_spec import CosPlace, DataConfigs, TrainingTask, job_of, takes_old_order
from tikit.tencentcloud.tione.v20211111 import models as wire

ORDER_FIELDS = ("CreateTime", "UpdateTime", "StartTime")
MAX_TASKS = 50


class Training(Session):
    @takes_old_order
    @translated
    def create_training_task(
        self,
        name: str = "",
        framework: Optional[FrameworkInfo] = None,
        cos_output: CosPlace = None,
        worker_resource: Optional[ResourceConfigInfo] = None,
        code_package_path: CosPlace = None,
        code_repos: Optional[Sequence[Any]] = None,
        ps_resource: Optional[ResourceConfigInfo] = None,
        head_resource: Optional[ResourceConfigInfo] = None,
        worker_resource_group: Optional[Sequence[ResourceConfigInfo]] = None,
        input_data_config: DataConfigs = None,
        worker_start_cmd: Optional[str] = None,
        ps_start_cmd: Optional[str] = None,
        tags: Optional[Sequence[Any]] = None,
        tuning_parameters_dict: dict[str, Any] = {},  # noqa: B006  as in the original; it is only read
        resource_group_id: str = "",
        remark: Optional[str] = None,
        log_enable: bool = False,
        log_logset_id: Optional[str] = None,
        log_topic_id: Optional[str] = None,
        vpc_id: Optional[str] = None,
        sub_net_id: Optional[str] = None,
        enable_rdma: bool = False,
        restart_limit: int = 0,
    ) -> wire.CreateTrainingTaskResponse:
        """Submit a job. Positional arguments may be in the order of this signature or in that of 2022.

        `resource_group_id` is a Danlu project. Logs are always stored, and networks are managed by Danlu: the arguments
        for them have no effect.
        """
        if not name:
            raise refuse("name: expected the name of the task, got an empty one")
        if framework is None:
            raise refuse("framework: expected models.FrameworkInfo, got None")
        if not worker_start_cmd:
            raise refuse("worker_start_cmd: expected a command such as 'sh start.sh', got none")
        if code_repos:
            raise refuse(
                "code_repos: repositories are not fetched here; upload the code with upload_to_cos and name it in "
                "code_package_path",
                "UnsupportedOperation",
            )
        task = TrainingTask(
            name=name,
            framework=framework,
            worker_resource=worker_resource,
            worker_start_cmd=worker_start_cmd,
            cos_output=cos_output,
            code_package_path=code_package_path,
            ps_resource=ps_resource,
            ps_start_cmd=ps_start_cmd,
            head_resource=head_resource,
            worker_resource_group=worker_resource_group or (),
            input_data_config=input_data_config,
            tags=tags,
            tuning_parameters=tuning_parameters_dict,
            resource_group_id=resource_group_id,
            remark=remark,
            restart_limit=restart_limit,
        )
        job = self._danlu.jobs.submit(job_of(task))
        return wire.CreateTrainingTaskResponse.new(Id=job.id, RequestId=request_id())

    @translated
    def describe_training_tasks(
        self,
        filters: Optional[Sequence[Any]] = None,
        tag_filters: Optional[Sequence[Any]] = None,
        offset: int = 0,
        limit: int = 50,
        order: str = "DESC",
        order_field: str = "UpdateTime",
    ) -> wire.DescribeTrainingTasksResponse:
        """List tasks. Filters: Name, Id, Status, ResourceGroupId, Creator, ChargeType, CHARGE_STATUS."""
        if order_field not in ORDER_FIELDS:
            raise refuse(f"order_field: expected one of {', '.join(ORDER_FIELDS)}, got {order_field!r}")
        if order not in ("ASC", "DESC"):
            raise refuse(f"order: expected ASC or DESC, got {order!r}")
        wanted, tags = [_filter(one) for one in filters or ()], [_tag_filter(one) for one in tag_filters or ()]
        rows = [job.row for job in self._danlu.jobs.list()]
        found = [row for row in rows if _matches(row, wanted) and _has_tags(row, tags)]
        found.sort(key=lambda row: _order_key(row, order_field), reverse=order == "DESC")
        page = found[offset : offset + min(limit, MAX_TASKS)]
        return wire.DescribeTrainingTasksResponse.new(
            TrainingTaskSet=[task_view.item(self._danlu.jobs.get(row.id).details) for row in page],
            TotalCount=len(found),
            RequestId=request_id(),
        )

    @translated
    def describe_training_task(self, task_id: str) -> wire.DescribeTrainingTaskResponse:
        """Return the details of one task, as `.TrainingTaskDetail`."""
        job = self._danlu.jobs.get(task_id).details
        return wire.DescribeTrainingTaskResponse.new(
            TrainingTaskDetail=task_view.detail(job, self._region), RequestId=request_id()
        )

    @translated
    def start_training_task(self, task_id: str) -> wire.StartTrainingTaskResponse:
        """Restart a task that has ended, under the same id."""
        self._danlu.jobs.get(task_id).start()
        return wire.StartTrainingTaskResponse.new(RequestId=request_id())

    @translated
    def stop_training_task(self, task_id: str) -> wire.StopTrainingTaskResponse:
        """Stop a task; does nothing if it has ended."""
        self._danlu.jobs.get(task_id).stop()
        return wire.StopTrainingTaskResponse.new(RequestId=request_id())

    @translated
    def delete_training_task(self, task_id: str) -> wire.DeleteTrainingTaskResponse:
        """Delete a task that has ended, with its logs. Its output is kept in the store."""
        self._danlu.jobs.get(task_id).delete()
        return wire.DeleteTrainingTaskResponse.new(RequestId=request_id())

    @translated
    def describe_training_task_pods(self, task_id: str) -> wire.DescribeTrainingTaskPodsResponse:
        """List the nodes of the newest attempt; empty before the first one."""
        found = task_view.pods(self._danlu.jobs.get(task_id).details)
        return wire.DescribeTrainingTaskPodsResponse.new(
            PodNames=[pod.Name for pod in found],
            TotalCount=len(found),
            PodInfoList=found,
            RequestId=request_id(),
        )


class _Filter:
    """A filter, given as an object or a dict."""

    def __init__(self, name: str, values: Iterable[str], *, negative: bool, fuzzy: bool) -> None:
        self.name, self.values, self.negative, self.fuzzy = name, [str(one) for one in values], negative, fuzzy

    def takes(self, value: str) -> bool:
        is_one = any(one in value for one in self.values) if self.fuzzy else value in self.values
        return is_one != self.negative


VALUES: dict[str, Callable[[JobSummary], str]] = {
    "Name": lambda row: row.name,
    "Id": lambda row: row.id,
    "Status": task_view.status,
    "ResourceGroupId": lambda row: row.project,
    "Creator": lambda row: row.owner,
    "ChargeType": lambda row: "PREPAID" if row.price_per_hour is None else "POSTPAID_BY_HOUR",
    "CHARGE_STATUS": lambda row: "BILLING" if row.cost_at is not None else "NOT_BILLING",
}
"""Name of a filter -> the value it is compared with."""


def _filter(given: Any) -> _Filter:
    def value(name: str) -> Any:
        return given.get(name) if isinstance(given, dict) else getattr(given, name, None)

    if value("Name") not in VALUES:
        raise refuse(
            f"filters: expected a Name of {', '.join(VALUES)}, got {value('Name')!r}",
            "InvalidParameterValue.InvalidFilter",
        )
    return _Filter(value("Name"), value("Values") or (), negative=bool(value("Negative")), fuzzy=bool(value("Fuzzy")))


def _tag_filter(given: Any) -> tuple[str, list[str]]:
    if isinstance(given, dict):
        return given["TagKey"], list(given.get("TagValues") or ())
    return given.TagKey, list(given.TagValues or ())


def _matches(row: JobSummary, wanted: Sequence[_Filter]) -> bool:
    return all(one.takes(VALUES[one.name](row)) for one in wanted)


def _has_tags(row: JobSummary, wanted: Sequence[tuple[str, list[str]]]) -> bool:
    return all(key in row.tags and (not values or row.tags[key] in values) for key, values in wanted)


def _order_key(row: JobSummary, field: str) -> float:
    if field == "UpdateTime":
        return task_view.updated_at(row).timestamp()
    at = row.created_at if field == "CreateTime" else row.started_at
    return at.timestamp() if at is not None else 0.0
