"""The names of all metrics, with their labels and meanings. Names and labels are stable: dashboards depend on them.

`docs/reference/metrics.md` is generated from this table.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Metric(NamedTuple):
    name: str
    kind: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    meaning: str


TASK = ("job_id", "rank", "node")
"""Not `job`: Prometheus uses that label for its targets, and would rename ours."""

METRICS: tuple[Metric, ...] = (
    # the platform
    Metric("danlu_build_info", "gauge", ("version",), "Always 1; the label says which version answers."),
    Metric("danlu_http_requests_total", "counter", ("method", "route", "status"), "Answered requests."),
    Metric(
        "danlu_http_request_seconds",
        "histogram",
        ("method", "route"),
        "Time until the answer of a request begins; streams count until their first byte.",
    ),
    Metric(
        "danlu_scheduler_look_seconds",
        "histogram",
        ("part",),
        "Time that the scheduler takes for a look: `watch` at running jobs, `queue` at waiting ones.",
    ),
    Metric("danlu_scheduler_failures_total", "counter", (), "Looks of the scheduler that failed; it tries again."),
    Metric("danlu_disk_bytes", "gauge", ("folder",), "Size of the disk that a folder of the server is on."),
    Metric("danlu_disk_free_bytes", "gauge", ("folder",), "Room that is left on the disk of a folder of the server."),
    Metric("danlu_users", "gauge", ("state",), "Users, by whether they are `active` or `disabled`."),
    # the queue
    Metric("danlu_queue_jobs", "gauge", ("project",), "Jobs that wait, by project."),
    Metric("danlu_queue_oldest_seconds", "gauge", ("project",), "How long the oldest job in the queue has waited."),
    Metric("danlu_queue_reasons", "gauge", ("reason",), "Jobs that wait, by the code of the reason."),
    # jobs
    Metric("danlu_jobs", "gauge", ("state",), "Jobs that are stored, by state."),
    Metric("danlu_jobs_live", "gauge", ("project",), "Jobs that hold resources, by project."),
    Metric(
        "danlu_job_info", "gauge", ("job_id", "name", "project", "owner", "state"), "Always 1; one for each live job."
    ),
    Metric("danlu_job_running_seconds", "gauge", ("job_id",), "How long the attempt of a live job has been running."),
    Metric("danlu_task_cpu_cores", "gauge", TASK, "Cores that a running task uses, as last measured."),
    Metric("danlu_task_memory_bytes", "gauge", TASK, "Memory that a running task uses, as last measured."),
    Metric("danlu_task_memory_limit_bytes", "gauge", TASK, "Memory that is reserved for a running task."),
    Metric("danlu_task_device_busy_ratio", "gauge", TASK, "Part of the time that its devices are at work, 0 to 1."),
    Metric("danlu_task_device_memory_bytes", "gauge", TASK, "Memory that a running task uses on its devices."),
    Metric("danlu_task_log_bytes", "gauge", TASK, "Length of the log of a running task."),
    # nodes
    Metric("danlu_node_up", "gauge", ("node", "engine"), "1 while the node answers, 0 when it does not."),
    Metric("danlu_node_drained", "gauge", ("node",), "1 while nothing new is started on the node."),
    Metric("danlu_node_tasks", "gauge", ("node",), "Tasks on the node."),
    Metric("danlu_node_cpus", "gauge", ("node",), "Cores of the node."),
    Metric("danlu_node_cpus_reserved", "gauge", ("node",), "Cores that are reserved for tasks."),
    Metric("danlu_node_cpus_used", "gauge", ("node",), "Cores that tasks use, as last measured."),
    Metric("danlu_node_memory_bytes", "gauge", ("node",), "Memory of the node."),
    Metric("danlu_node_memory_reserved_bytes", "gauge", ("node",), "Memory that is reserved for tasks."),
    Metric("danlu_node_memory_used_bytes", "gauge", ("node",), "Memory that tasks use, as last measured."),
    # devices
    Metric("danlu_devices", "gauge", ("node", "type", "model"), "Devices of a node."),
    Metric("danlu_devices_held", "gauge", ("node", "type", "model"), "Devices of a node that jobs hold."),
    Metric("danlu_device_held", "gauge", ("node", "type", "device"), "1 while a job holds the device, 0 otherwise."),
    # alerts
    Metric("danlu_alerts", "gauge", ("kind",), "Alerts that are open now, by kind; 0 for a kind without any."),
    Metric("danlu_deliveries", "gauge", ("state",), "Webhook and e-mail deliveries that are stored, by state."),
)
BY_NAME = {metric.name: metric for metric in METRICS}
