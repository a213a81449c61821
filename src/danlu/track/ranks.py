"""The rank of this process in a distributed training."""

from __future__ import annotations

from collections.abc import Mapping

RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
"""In this order: torchrun's variable is more specific than those of mpirun or srun around it."""


def rank_of(environ: Mapping[str, str]) -> int:
    """Return the rank from variables of torchrun, MPI and Slurm, in this order; 0 by default."""
    for name in RANK_VARIABLES:
        text = environ.get(name, "").strip()
        if not text.isdecimal():
            continue
        if name == "SLURM_PROCID" and "SLURM_STEP_ID" not in environ:
            continue  # the batch script itself, not a task that srun started
        if name == "RANK" and _is_node_rank(environ):
            continue
        return int(text)
    return 0


def _is_node_rank(environ: Mapping[str, str]) -> bool:
    """Whether RANK counts nodes: an MPI launcher runs in a job that set it per node."""
    return "OMPI_COMM_WORLD_RANK" in environ and "LOCAL_RANK" not in environ
