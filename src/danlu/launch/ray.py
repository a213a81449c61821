"""`ray`: the tasks form a Ray cluster that belongs to the job, and the command runs once, on its head.

Without roles the head is the first node; with roles it is the role `launcher`, and all other roles are workers.
`node/ray/cluster.py` is part of the plan; Ray must be installed in the job's environment.
"""

from __future__ import annotations

import json
import pkgutil
from functools import cache

from danlu.launch import plain
from danlu.launch.additions import Additions
from danlu.launch.documented import Told
from danlu.launch.layout import Layout
from danlu.launch.placement import Placement, TaskPlacement
from danlu.spec.devices import CPU
from danlu.spec.job import JobSpec
from danlu.spec.roles import LAUNCHER, Member, members

STARTS = (
    "The command runs once, on the head of a Ray cluster that has all tasks of the job as its nodes, and begins when "
    "they have joined. The cluster ends with the command."
)
TOLD = {
    "RAY_ADDRESS": Told("where the head is: ray.init() connects there", "Ray"),
    "RAY_USAGE_STATS_ENABLED": Told("Ray reports nothing to its makers", "Ray"),
}
FILES = {
    "ray.json": "how this task becomes a node of the Ray cluster",
    "cluster.py": "starts the nodes, and the command on the head",
}
DAEMONS = ("ray", "raylet", "gcs_server")
"""They end with the command, which may use the cluster during its grace period."""

FIRST_PORT, PORTS_PER_TASK = 20_000, 8
PORT_OPTIONS = (
    "node-manager-port",
    "object-manager-port",
    "dashboard-agent-grpc-port",
    "dashboard-agent-listen-port",
    "metrics-export-port",
    "runtime-env-agent-port",
)
"""Ports that are set per task: tasks on one machine share a private network, where Ray would choose the same ones."""


def add(job: JobSpec, *, job_id: str, placement: Placement) -> list[Additions]:
    address = f"{placement.tasks[0].address}:{placement.master_port}"
    return [
        Additions(
            env={
                **plain.environment(job, job_id=job_id, placement=placement, rank=member.rank),
                "RAY_ADDRESS": address,
                "RAY_USAGE_STATS_ENABLED": "0",
            },
            files=_files(member, place, placement=placement, address=address),
            launcher=_launcher(member, Layout(place.root)),
            spared=DAEMONS,
        )
        for member, place in zip(members(job), placement.tasks, strict=True)
    ]


def _files(member: Member, place: TaskPlacement, *, placement: Placement, address: str) -> dict[str, str]:
    layout = Layout(place.root)
    config = {
        "address": address,
        "num_nodes": len(placement.tasks),
        "token": layout.token,
        "start": _options(member, place, placement=placement),
    }
    return {_config(layout): json.dumps(config, indent=1) + "\n", _program(layout): _text()}


def _options(member: Member, place: TaskPlacement, *, placement: Placement) -> list[str]:
    """Options of `ray start`."""
    resources = member.group.resources
    device = resources.device
    count = device.count if device.is_scarce else 0
    first = FIRST_PORT + place.rank * PORTS_PER_TASK
    ports = [f"--{name}={first + number}" for number, name in enumerate(PORT_OPTIONS)]
    return [
        f"--node-ip-address={place.address}",
        *((f"--port={placement.master_port}", "--include-dashboard=false") if place.rank == 0 else ()),
        *(ports if placement.has_own_network else ()),
        "--min-worker-port=0",
        "--max-worker-port=0",
        *((f"--num-cpus={max(1, int(resources.cpus))}",) if resources.cpus else ()),
        f"--num-gpus={count if device.type == 'gpu' else 0}",
        *(
            (f"--resources={json.dumps({device.type.upper(): count})}",)
            if count and device.type not in (CPU, "gpu")
            else ()
        ),
        "--disable-usage-stats",
    ]


def _launcher(member: Member, layout: Layout) -> tuple[str, ...]:
    program = ("python3", "-I", "-S", _program(layout), _config(layout))
    return (*program, "head", "--") if member.role == LAUNCHER else (*program, "worker")


def _config(layout: Layout) -> str:
    return f"{layout.config}/ray/ray.json"


def _program(layout: Layout) -> str:
    return f"{layout.config}/ray/cluster.py"


@cache
def _text() -> str:
    """Source of the program, which is part of the plan: an image need not have Danlu installed."""
    text = pkgutil.get_data("danlu.node.ray", "cluster.py")
    assert text is not None
    return text.decode()
