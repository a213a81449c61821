"""What a job would look like when started: asked for by `danlu plan`, and tried at submit to say no early."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from danlu.errors import InvalidSpec
from danlu.launch import Placement, Plan, TaskPlacement, make_plan
from danlu.scheduler.cluster import empty_node
from danlu.scheduler.placing import OWN_NETWORK_PORT, own_address
from danlu.scheduler.policy import place
from danlu.scheduler.snapshot import QueuedJob
from danlu.spec.job import JobSpec
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason
from danlu.spec.roles import groups
from danlu.store import nodes

EXAMPLE_ID = "train-000000000000000000"


def try_plan(session: Session, spec: JobSpec, *, output: str, now: datetime) -> tuple[Plan, list[str]]:
    """Plan the job on the nodes there are, taken as empty. Return the plan and what is not isolated there."""
    infos = [NodeInfo.model_validate(row.info) for row in nodes.list_nodes(session) if row.is_reachable]
    check_paths(spec, infos)
    job = QueuedJob(id=EXAMPLE_ID, spec=spec, attempt=1, queued_at=now)
    found = place(job, [empty_node(info) for info in infos])
    placement = _anywhere(spec) if isinstance(found, Reason) else found
    placed_on = {task.node for task in placement.tasks}
    notes = [note for info in infos if info.name in placed_on for note in info.missing]
    if isinstance(found, Reason):
        notes.append(f"it would wait: {found.message}")
    else:
        simulated = sorted({task.node for task in placement.tasks if task.has_simulated_devices})
        notes += [f"the devices of {node} are simulated: no such hardware is used" for node in simulated]
    plan = make_plan(spec, job_id=EXAMPLE_ID, attempt=1, placement=placement, output=f"{output}{EXAMPLE_ID}/")
    return plan, list(dict.fromkeys(notes))


def check_paths(spec: JobSpec, infos: list[NodeInfo]) -> None:
    """Absolute paths in a job need a sandbox: without one they would be paths of the machine."""
    if not infos or any(info.has_sandbox for info in infos):
        return
    for target in spec.data.values():
        if target.startswith("/"):
            problem = (
                f"{target!r} is an absolute path, and no node here has a sandbox that could provide it; "
                f"write a path relative to DANLU_DATA_DIR, or install bubblewrap"
            )
            raise InvalidSpec(f"the job cannot be used: data: {problem}", fields={"data": problem})


def _anywhere(spec: JobSpec) -> Placement:
    """A placement for showing, when no node can hold the job."""
    devices = [group.resources.device for group in groups(spec) for _ in range(group.count)]
    tasks = tuple(
        TaskPlacement(
            rank=rank,
            node=f"node-{rank}",
            address=own_address(rank),
            device_ids=tuple(range(device.count if device.is_scarce else 0)),
            device_model=device.model,
            has_simulated_devices=device.is_scarce,
        )
        for rank, device in enumerate(devices)
    )
    return Placement(tasks=tasks, master_port=OWN_NETWORK_PORT, interface="")
