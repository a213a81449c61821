"""Specs that were read before."""

from __future__ import annotations

from collections import OrderedDict

from danlu.spec.job import JobSpec
from danlu.store.tables import JobRow

MAX_SPECS = 20_000


class SpecCache:
    """Specs never change, and reading one takes longer than looking it up."""

    def __init__(self) -> None:
        self._specs: OrderedDict[str, JobSpec] = OrderedDict()

    def get(self, job: JobRow) -> JobSpec:
        if job.id not in self._specs:
            self._specs[job.id] = JobSpec.model_validate(job.spec)
            if len(self._specs) > MAX_SPECS:
                self._specs.popitem(last=False)
        return self._specs[job.id]
