"""Contracts by name: the environment that scripts for other platforms expect, on top of any launch mode."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from danlu.launch import apulis, modelarts, tione
from danlu.launch.additions import Additions
from danlu.launch.owner import Owner
from danlu.launch.placement import Placement
from danlu.spec.job import Contract, JobSpec

MODULES: dict[Contract, ModuleType] = {
    Contract.TIONE: tione,
    Contract.APULIS: apulis,
    Contract.MODELARTS: modelarts,
}
"""Each module has a function `add` of type `Add`, the tables `TOLD` and `FILES`, and the sentence `STARTS`."""

Add = Callable[..., list[Additions]]
"""(job, additions of the mode, job_id, attempt, placement, owner) -> additions with the contract's, in rank order."""


def add_contract(
    job: JobSpec, added: list[Additions], *, job_id: str, attempt: int, placement: Placement, owner: Owner
) -> list[Additions]:
    """Add what the job's contract requires; nothing without one. Raise InvalidSpec if the job contradicts it."""
    if job.contract is None:
        return added
    add: Add = MODULES[job.contract].add
    return add(job, added, job_id=job_id, attempt=attempt, placement=placement, owner=owner)
