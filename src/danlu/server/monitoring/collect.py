"""The current state of the platform as metrics, read anew for each scrape."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

import danlu
from danlu.server.monitoring.names import BY_NAME
from danlu.server.nodes.service import list_nodes
from danlu.server.state import ServerState
from danlu.spec.monitoring.alerts import ALERTS
from danlu.spec.monitoring.events import DeliveryState
from danlu.spec.states import JobState
from danlu.store.queries import attempts
from danlu.store.queries.monitoring import alerts, counts, webhooks
from danlu.store.sql.tables import TaskRow
from danlu.wire.nodes import NodeOut

MAX_LIVE = 2000
"""Live jobs and tasks with series of their own; counts of jobs include all."""

_USED = {
    "cpu": "danlu_task_cpu_cores",
    "memory": "danlu_task_memory_bytes",
    "device": "danlu_task_device_busy_ratio",
    "device_memory": "danlu_task_device_memory_bytes",
}


class Everything(Collector):
    """All metrics: counted events, and the current state."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        state = self._state
        yield from state.instruments.registry.collect()
        yield _gauge("danlu_build_info", [((danlu.__version__,), 1)])
        yield from disk_families({"data": state.settings.home, "jobs": state.settings.work_dir})
        with state.database.reading() as session:
            nodes = list_nodes(session, state.usage)
            yield from self._jobs(session)
            yield from self._told(session)
        yield from node_families(nodes)

    def _jobs(self, session: Session) -> Iterator[Metric]:
        now = self._state.now()
        by_state = counts.jobs_by_state(session)
        yield _gauge("danlu_jobs", [((state.value,), by_state.get(state.value, 0)) for state in JobState])
        waiting = counts.queue_by_project(session)
        yield _gauge("danlu_queue_jobs", [((one.project,), one.num_jobs) for one in waiting])
        ages = [((one.project,), max(0.0, (now - one.oldest_at).total_seconds())) for one in waiting]
        yield _gauge("danlu_queue_oldest_seconds", ages)
        reasons = counts.queue_by_reason(session)
        yield _gauge("danlu_queue_reasons", [((code,), count) for code, count in sorted(reasons.items())])
        live = counts.live_jobs(session, MAX_LIVE)
        per_project = counts.live_by_project(session)
        yield _gauge("danlu_jobs_live", [((name,), count) for name, count in sorted(per_project.items())])
        told = [((job.id, job.name, job.project, job.owner, job.state), 1) for job in live]
        yield _gauge("danlu_job_info", told)
        ages = [((job.id,), max(0.0, (now - job.started_at).total_seconds())) for job in live]
        yield _gauge("danlu_job_running_seconds", ages)
        yield from self._tasks(attempts.live_tasks(session)[:MAX_LIVE])

    def _tasks(self, tasks: Sequence[TaskRow]) -> Iterator[Metric]:
        labels = [(task.job_id, str(task.rank), task.node) for task in tasks]
        used = [self._state.usage.last(task.job_id, task.attempt, task.rank) for task in tasks]
        for quantity, name in _USED.items():
            found = zip(labels, used, strict=True)
            yield _gauge(name, [(label, seen[quantity]) for label, seen in found if quantity in seen])
        limits = [(label, task.memory_bytes) for label, task in zip(labels, tasks, strict=True) if task.memory_bytes]
        yield _gauge("danlu_task_memory_limit_bytes", limits)
        yield _gauge("danlu_task_log_bytes", list(zip(labels, (task.log_bytes for task in tasks), strict=True)))

    def _told(self, session: Session) -> Iterator[Metric]:
        people = counts.users_by_activity(session)
        words = (("active", True), ("disabled", False))
        yield _gauge("danlu_users", [((word,), people.get(is_active, 0)) for word, is_active in words])
        is_open = alerts.open_by_kind(session)
        yield _gauge("danlu_alerts", [((kind.value,), is_open.get(kind.value, 0)) for kind in ALERTS])
        sent = webhooks.deliveries_by_state(session)
        yield _gauge("danlu_deliveries", [((state.value,), sent.get(state.value, 0)) for state in DeliveryState])


def node_families(nodes: Sequence[NodeOut]) -> Iterator[Metric]:
    yield _gauge("danlu_node_up", [((node.name, node.engine), int(node.is_reachable)) for node in nodes])
    yield _gauge("danlu_node_drained", [((node.name,), int(node.drain is not None)) for node in nodes])
    fields = {
        "danlu_node_tasks": "num_tasks",
        "danlu_node_cpus": "cpus",
        "danlu_node_cpus_reserved": "cpus_reserved",
        "danlu_node_cpus_used": "cpus_used",
        "danlu_node_memory_bytes": "memory_bytes",
        "danlu_node_memory_reserved_bytes": "memory_reserved_bytes",
        "danlu_node_memory_used_bytes": "memory_used_bytes",
    }
    for name, field in fields.items():
        found = (((node.name,), getattr(node, field)) for node in nodes)
        yield _gauge(name, [(label, value) for label, value in found if value is not None])
    devices = [(node.name, device) for node in nodes for device in node.devices]
    there = Counter((node, device.type, device.model or "") for node, device in devices)
    held = Counter((node, device.type, device.model or "") for node, device in devices if device.job is not None)
    yield _gauge("danlu_devices", list(there.items()))
    yield _gauge("danlu_devices_held", [(label, held[label]) for label in there])
    each = [((node, device.type, str(device.id)), int(device.job is not None)) for node, device in devices]
    yield _gauge("danlu_device_held", each)


def disk_families(folders: dict[str, Path]) -> Iterator[Metric]:
    sizes = {(name,): shutil.disk_usage(folder) for name, folder in folders.items() if folder.exists()}
    yield _gauge("danlu_disk_bytes", [(label, size.total) for label, size in sizes.items()])
    yield _gauge("danlu_disk_free_bytes", [(label, size.free) for label, size in sizes.items()])


def _gauge(name: str, values: Sequence[tuple[tuple[str, ...], float]]) -> Metric:
    described = BY_NAME[name]
    family = GaugeMetricFamily(name, described.meaning, labels=described.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family
