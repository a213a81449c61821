"""Which process of a distributed training this is."""

from __future__ import annotations

from collections.abc import Mapping

RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
"""In this order: what torchrun sets is closer to the process than what mpirun or srun around it did."""


def rank_of(environ: Mapping[str, str]) -> int:
    """The rank by the variables of torchrun, MPI and Slurm, in this order; 0 when there is none."""
    for name in RANK_VARIABLES:
        text = environ.get(name, "").strip()
        if not text.isdigit():
            continue
        if name == "SLURM_PROCID" and "SLURM_STEP_ID" not in environ:
            continue  # the batch script itself, not a task that srun started
        if name == "RANK" and _is_node_rank(environ):
            continue
        return int(text)
    return 0


def _is_node_rank(environ: Mapping[str, str]) -> bool:
    """Whether RANK counts nodes: an MPI launcher below a job that set it for the node."""
    return "OMPI_COMM_WORLD_RANK" in environ and "LOCAL_RANK" not in environ
