"""Rank and world size from the environment variables of torchrun, mpirun and Slurm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Launch:
    """The environment of one launcher; `local_size` is the number of ranks that it started on this host."""

    launcher: str
    rank: int
    world_size: int
    local_rank: int | None
    local_size: int | None


# launcher -> its variables for rank, world size, local rank, local size
VARIABLES: Mapping[str, tuple[str, str, str, str]] = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    "mpirun": (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    "srun": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
}


FIRST_PORT, NUM_PORTS = 20000, 10000
"""Below the range of ephemeral ports."""

JOB_FAMILY = 1 << 16
"""Open MPI job ids contain the number of the mpirun in their upper half."""


def read_launch(environ: Mapping[str, str]) -> Launch | None:
    """Return what the launcher set, or None if the ranks were started without one.

    mpirun's variables take precedence over RANK: scripts under mpirun often set RANK from them and nothing else.
    """
    for launcher in ("mpirun", "torchrun", "srun"):
        rank, size, local_rank, local_size = VARIABLES[launcher]
        if rank in environ and size in environ:
            return Launch(
                launcher,
                int(environ[rank]),
                int(environ[size]),
                _number(environ.get(local_rank)),
                _number(environ.get(local_size)),
            )
    return None


def rendezvous_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that `env://` reads and torchrun would have set, as far as they are missing.

    With Open MPI 4 MASTER_ADDR is the address of mpirun itself, which runs on the first of its hosts.
    """
    launch = read_launch(environ)
    if launch is None:
        return {}
    found = {
        "RANK": launch.rank,
        "WORLD_SIZE": launch.world_size,
        "LOCAL_RANK": launch.local_rank,
        "LOCAL_WORLD_SIZE": launch.local_size,
        **_meeting_point(environ),
    }
    return {name: str(value) for name, value in found.items() if value is not None and name not in environ}


def _meeting_point(environ: Mapping[str, str]) -> dict[str, str]:
    """Return mpirun's address, and a port that all ranks of the job derive from its job id.

    Empty if the script sets either of them: mixing both sources would give a wrong address.
    """
    found = re.match(r"(\d+)\.\d+;tcp://([0-9.]+)", environ.get("OMPI_MCA_orte_hnp_uri", ""))
    if found is None or "MASTER_ADDR" in environ or "MASTER_PORT" in environ:
        return {}
    return {"MASTER_ADDR": found[2], "MASTER_PORT": str(FIRST_PORT + int(found[1]) // JOB_FAMILY % NUM_PORTS)}


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
