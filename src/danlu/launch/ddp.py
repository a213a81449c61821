"""`ddp`: PyTorch distributed. The command runs on every node and starts its own processes (torchrun, or one per node).

Both generations of TI-ONE's variables are set: the old ones as in `plain`, and the node-level `MASTER_ADDR`,
`MASTER_PORT`, `WORLD_SIZE` and `RANK` of PyTorchJob, which torchrun overrides for the processes that it starts.
"""

from __future__ import annotations

from danlu.launch import plain
from danlu.launch.additions import Additions
from danlu.launch.documented import Told
from danlu.launch.placement import Placement
from danlu.spec.job import JobSpec

STARTS = (
    "The command runs once on every node and starts its own processes, with torchrun or by itself. Node 0 is where "
    "they meet."
)
TOLD = {
    "MASTER_ADDR": Told("the address of node 0, where the processes meet", "torch.distributed, torchrun scripts"),
    "MASTER_PORT": Told("a port there that is free for this attempt", "torch.distributed, torchrun scripts"),
    "WORLD_SIZE": Told(
        "how many nodes there are; torchrun replaces it by the number of processes", "PyTorchJob scripts"
    ),
    "RANK": Told("which node this is; torchrun replaces it by the number of the process", "PyTorchJob scripts"),
}
FILES: dict[str, str] = {}


def add(job: JobSpec, *, job_id: str, placement: Placement) -> list[Additions]:
    return [Additions(_environment(job, job_id=job_id, placement=placement, rank=p.rank)) for p in placement.tasks]


def _environment(job: JobSpec, *, job_id: str, placement: Placement, rank: int) -> dict[str, str]:
    return {
        **plain.environment(job, job_id=job_id, placement=placement, rank=rank),
        "MASTER_ADDR": placement.tasks[0].address,
        "MASTER_PORT": str(placement.master_port),
        "WORLD_SIZE": str(job.nodes),
        "RANK": str(rank),
    }
