"""Resources that a project's live attempts hold, in SQL."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from danlu.store.queries.attempts import LIVE
from danlu.store.sql.tables import AttemptRow, DeviceClaimRow, JobRow, TaskRow

Used = dict[tuple[int, bool], dict[str, float]]
"""(owner, is preemptible) -> resource -> amount."""


def of_project(session: Session, project_id: int) -> Used:
    preemptible = func.coalesce(JobRow.spec["preemptible"].as_boolean(), False)
    found: Used = {}
    devices = (
        select(JobRow.owner_id, preemptible, DeviceClaimRow.type, func.count())
        .join(DeviceClaimRow, DeviceClaimRow.job_id == JobRow.id)
        .where(JobRow.project_id == project_id)
        .group_by(JobRow.owner_id, preemptible, DeviceClaimRow.type)
    )
    for owner_id, is_preemptible, kind, count in session.execute(devices):
        found.setdefault((owner_id, bool(is_preemptible)), {})[kind] = float(count)
    others = (
        select(JobRow.owner_id, preemptible, func.sum(TaskRow.cpus), func.sum(TaskRow.memory_bytes))
        .join(TaskRow, TaskRow.job_id == JobRow.id)
        .join(AttemptRow, (AttemptRow.job_id == TaskRow.job_id) & (AttemptRow.number == TaskRow.attempt))
        .where(JobRow.project_id == project_id, AttemptRow.state.in_(LIVE))
        .group_by(JobRow.owner_id, preemptible)
    )
    for owner_id, is_preemptible, cpus, memory_bytes in session.execute(others):
        amounts = found.setdefault((owner_id, bool(is_preemptible)), {})
        amounts.update({name: float(value) for name, value in (("cpus", cpus), ("memory", memory_bytes)) if value})
    return {key: amounts for key, amounts in found.items() if amounts}
