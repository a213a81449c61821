"""Metrics of a task, stored in the run of its job."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Optional

from danlu.wire.runs import PushMetrics, SeriesPoints
from tikit.session import Session, refuse, request_id, translated
from tikit.tencentcloud.tione.v20211111 import models as wire

DEFAULT_TYPE = "train"
"""Type of a metric whose name has none (`val/acc` has `val`)."""


class Metrics(Session):
    @translated
    def push_training_metrics(
        self,
        timestamp: int,
        value_map: Mapping[str, float],
        task_id: Optional[str] = None,
        epoch: Optional[int] = None,
        total_steps: Optional[int] = None,
        step: Optional[int] = None,
    ) -> wire.PushTrainingMetricsResponse:
        """Add points to the charts of a task, by default of the current one.

        `timestamp` is in seconds since 1970. A name such as `val/acc` is the metric acc of the type val.
        """
        one = _metrics(value_map, timestamp=timestamp, epoch=epoch, step=step, total_steps=total_steps)
        self._danlu.runs.push_many(_task(task_id), [one])
        return wire.PushTrainingMetricsResponse.new(RequestId=request_id())

    @translated
    def push_training_metrics_list(self, metric_list: Iterable[Any]) -> wire.PushTrainingMetricsResponse:
        """Add points of many steps at once: a list of MetricData, or of dicts of their attributes."""
        by_task: dict[str, list[PushMetrics]] = {}
        for given in metric_list:
            found = given if isinstance(given, dict) else given._serialize()
            if found.get("Timestamp") is None:
                raise Exception("Timestamp: expected seconds since 1970, got None")
            points = [point if isinstance(point, dict) else point._serialize() for point in found.get("Points") or ()]
            one = _metrics(
                {point["Name"]: point["Value"] for point in points},
                timestamp=found["Timestamp"],
                epoch=found.get("Epoch"),
                step=found.get("Step"),
                total_steps=found.get("TotalSteps"),
            )
            by_task.setdefault(_task(found.get("TaskId")), []).append(one)
        for task, metrics in by_task.items():
            self._danlu.runs.push_many(task, metrics)
        return wire.PushTrainingMetricsResponse.new(RequestId=request_id())

    @translated
    def describe_training_metrics(self, task_id: str) -> wire.DescribeTrainingMetricsResponse:
        """Return all metrics of a task, each over time, over steps and, if available, over epochs."""
        job = self._danlu.jobs.get(task_id).details
        return wire.DescribeTrainingMetricsResponse.new(
            TaskId=job.id,
            Data=[] if job.run is None else [_data(line) for line in self._lines(job.run)],
            RequestId=request_id(),
        )

    def _lines(self, run_id: str) -> list[SeriesPoints]:
        run = self._danlu.runs.get(run_id)
        names = [f"{one.type}/{one.name}" for one in run.series() if one.type != "system"]
        return run.all_points(names, max_points=20_000) if names else []


def _task(task_id: Optional[str]) -> str:
    found = task_id or os.environ.get("TI_TASK_ID")
    if not found:
        raise refuse("task id cannot be empty")
    return found


def _metrics(values: Mapping[str, float], **more: Any) -> PushMetrics:
    from pydantic import ValidationError

    try:
        return PushMetrics(values={name: float(value) for name, value in values.items()}, **more)
    except (ValidationError, TypeError, ValueError) as error:
        raise refuse(f"metrics: expected numbers, got {dict(values)!r}: {error}") from error


def _data(line: SeriesPoints) -> wire.CustomTrainingData:
    axes: dict[str, list[Any]] = {"TIMESTAMP": [int(at) for at in line.time], "STEP": list(line.step)}
    if any(epoch is not None for epoch in line.epoch):
        axes["EPOCH"] = list(line.epoch)
    return wire.CustomTrainingData.new(
        MetricName=line.name if line.type == DEFAULT_TYPE else f"{line.type}/{line.name}",
        Metrics=[
            wire.CustomTrainingMetric.new(
                XType=kind,
                Points=[
                    wire.CustomTrainingPoint.new(XValue=x, YValue=y)
                    for x, y in zip(places, line.value)
                    if x is not None
                ],
            )
            for kind, places in axes.items()
        ],
    )
