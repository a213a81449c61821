"""What torchrun, mpirun and Slurm say about this rank in the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Launch:
    """One launcher's word; `local_size` is how many ranks it says it put on this host."""

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
"""Below those that systems hand out by themselves."""

JOB_FAMILY = 1 << 16
"""Numbers of Open MPI have the number of the mpirun in the upper half."""


def read_launch(environ: Mapping[str, str]) -> Launch | None:
    """Return what the launcher said, or None when ranks were started by hand.

    mpirun's own variables win over RANK: scripts under mpirun often set RANK from them and nothing else.
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
    """Return the variables that `env://` reads and torchrun would have set, where they are missing.

    Under mpirun of Open MPI 4 MASTER_ADDR is the address of mpirun itself, which is started on the first of its hosts.
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
    """Where mpirun is, and a port that all ranks of this job make out of its number.

    Both stay away when one of them is given: half a meeting point of ours would not be the script's.
    """
    found = re.match(r"(\d+)\.\d+;tcp://([0-9.]+)", environ.get("OMPI_MCA_orte_hnp_uri", ""))
    if found is None or "MASTER_ADDR" in environ or "MASTER_PORT" in environ:
        return {}
    return {"MASTER_ADDR": found[2], "MASTER_PORT": str(FIRST_PORT + int(found[1]) // JOB_FAMILY % NUM_PORTS)}


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
