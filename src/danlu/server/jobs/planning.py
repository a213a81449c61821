"""Launch preview of a job: for `danlu plan`, and tried at submission to reject invalid jobs early."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.launch import Owner, Placement, Plan, TaskPlacement, make_plan
from danlu.launch.placement import simulated_notes
from danlu.scheduler.loading import load_drains
from danlu.scheduler.policy.cluster import empty_node
from danlu.scheduler.policy.decide import place
from danlu.scheduler.policy.placing import own_address
from danlu.scheduler.policy.snapshot import QueuedJob
from danlu.scheduler.ports import OWN_NETWORK_PORT, TASK_PORT
from danlu.server.invalid import bad_spec
from danlu.server.nodes.known import KnownNodes
from danlu.spec.fields import Network
from danlu.spec.job import Contract, JobSpec
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason
from danlu.spec.roles import Member, members

EXAMPLE_ID = "train-000000000000000000"


def try_plan(
    session: Session, spec: JobSpec, known: KnownNodes, *, output: str, owner: Owner, now: datetime
) -> tuple[Plan, list[str]]:
    """Plan the job on the cluster's nodes as if they were empty. Return the plan and notes on those nodes."""
    drains = load_drains(session)
    infos = known.some(session, len(members(spec)), drained=drains)
    check_paths(spec, infos)
    check_image(spec, infos)
    check_python(spec, infos)
    job = QueuedJob(id=EXAMPLE_ID, spec=spec, attempt=1, queued_at=now)
    found = place(job, [replace(empty_node(info), drain=drains.get(info.name)) for info in infos])
    placement = _anywhere(spec) if isinstance(found, Reason) else found
    placed_on = {task.node for task in placement.tasks}
    notes = [note for info in infos if info.name in placed_on for note in info.missing]
    if isinstance(found, Reason):
        notes.append(f"it would wait: {found.message}")
    else:
        notes += simulated_notes(placement)
    if spec.image is not None:
        notes.append(f"only what is installed in {spec.image} can be imported; danlu of the nodes is not visible there")
    folder = f"{output}{EXAMPLE_ID}/"
    plan = make_plan(spec, job_id=EXAMPLE_ID, attempt=1, placement=placement, output=folder, owner=owner)
    return plan, list(dict.fromkeys(notes))


def check_network(spec: JobSpec, *, allows_host: bool) -> None:
    """Reject the nodes' own network, where a job reaches all services of its nodes, unless an admin allows it."""
    if spec.network is Network.HOST and not allows_host:
        problem = (
            "'host' is not allowed on this server: a job would reach every service of its nodes; "
            "leave it out, or ask an admin to set DANLU_SERVER_HOST_NETWORK=true"
        )
        raise bad_spec("network", problem)


def check_image(spec: JobSpec, infos: list[NodeInfo]) -> None:
    """Reject an image that no node can run, and say why."""
    if spec.image is None or any(info.image_tool for info in infos):
        return
    why = (
        "; ".join(f"{info.name}: {info.image_problem or 'its engine runs none'}" for info in infos)
        or "there is no node"
    )
    problem = f"{spec.image!r} cannot be used: {why}"
    raise bad_spec("image", problem)


def check_python(spec: JobSpec, infos: list[NodeInfo]) -> None:
    """Reject a Python version that no node has."""
    if spec.python is None or not infos or any(spec.python in info.pythons for info in infos):
        return
    known = sorted({version for info in infos for version in info.pythons}, key=lambda one: int(one.split(".")[1]))
    raise bad_spec("python", f"expected one of {', '.join(known) or 'none'} (those of the nodes), got {spec.python!r}")


def check_paths(spec: JobSpec, infos: list[NodeInfo]) -> None:
    """Absolute paths in a job need a sandbox: without one they would be paths of the machine."""
    if not infos or any(info.has_sandbox for info in infos):
        return
    if spec.contract not in (None, Contract.TIONE):
        problem = (
            f"'{spec.contract}' needs paths of its own in the job, and no node here has a sandbox that could provide "
            f"them; install bubblewrap"
        )
        raise bad_spec("contract", problem)
    for target in spec.data.values():
        if target.startswith("/"):
            problem = (
                f"{target!r} is an absolute path, and no node here has a sandbox that could provide it; "
                f"write a path relative to DANLU_DATA_DIR, or install bubblewrap"
            )
            raise bad_spec("data", problem)


def _anywhere(spec: JobSpec) -> Placement:
    """A placement for the preview of a job that fits no node now."""
    tasks = tuple(_imagined(member) for member in members(spec))
    return Placement(tasks=tasks, master_port=OWN_NETWORK_PORT, interface="")


def _imagined(member: Member) -> TaskPlacement:
    device = member.group.resources.device
    count = device.count if device.is_scarce else 0
    return TaskPlacement(
        rank=member.rank,
        node=f"node-{member.rank}",
        address=own_address(member.rank),
        port=TASK_PORT,
        device_ids=tuple(range(count)),
        device_model=device.model,
        has_simulated_devices=count > 0,
    )
