"""`ps_worker`: workers, with parameter servers or without (TensorFlow's MultiWorkerMirroredStrategy).

`TF_CONFIG` describes the whole cluster and the part of the task in it.

The command of each role runs once on each of its nodes. The job has succeeded when its chief has, or all workers if
there is no chief; parameter servers, which never exit by themselves, are then stopped.
"""

from __future__ import annotations

import json

from danlu.launch import plain
from danlu.launch.additions import Additions
from danlu.launch.documented import Told
from danlu.launch.placement import Placement
from danlu.spec.job import JobSpec
from danlu.spec.roles import EVALUATOR, Member, members

STARTS = (
    "The command of each role runs once on each of its nodes. Every task finds in TF_CONFIG who the parameter servers "
    "and workers are, and which of them it is itself."
)
TOLD = {
    "TF_CONFIG": Told("the addresses of all tasks by role, and this task's own role and index, as JSON", "TensorFlow"),
}
FILES: dict[str, str] = {}


def add(job: JobSpec, *, job_id: str, placement: Placement) -> list[Additions]:
    everyone = members(job)
    cluster = _cluster(everyone, placement)
    return [
        Additions(
            {
                **plain.environment(job, job_id=job_id, placement=placement, rank=member.rank),
                "TF_CONFIG": json.dumps(
                    {"cluster": cluster, "task": {"type": member.role, "index": member.index}},
                ),
            }
        )
        for member in everyone
    ]


def _cluster(everyone: tuple[Member, ...], placement: Placement) -> dict[str, list[str]]:
    """Addresses of the tasks by role. Evaluators are not part of the cluster."""
    cluster: dict[str, list[str]] = {}
    for member, place in zip(everyone, placement.tasks, strict=True):
        if member.role != EVALUATOR:
            cluster.setdefault(member.role, []).append(f"{place.address}:{place.port}")
    return cluster
