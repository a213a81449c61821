"""Specs that were read before."""

from __future__ import annotations

import logging
from collections import OrderedDict

from pydantic import ValidationError

from danlu.spec.job import JobSpec, stored_job
from danlu.store.tables import JobRow

log = logging.getLogger(__name__)
MAX_SPECS = 20_000


class SpecCache:
    """Specs never change, and reading one takes longer than looking it up."""

    def __init__(self) -> None:
        self._specs: OrderedDict[str, JobSpec | None] = OrderedDict()

    def get(self, job: JobRow) -> JobSpec | None:
        """The job's spec; None when this version cannot read it, which must not keep other jobs waiting."""
        if job.id not in self._specs:
            self._specs[job.id] = _read(job)
            if len(self._specs) > MAX_SPECS:
                self._specs.popitem(last=False)
        return self._specs[job.id]


def _read(job: JobRow) -> JobSpec | None:
    try:
        return stored_job(job.spec)
    except ValidationError as error:
        log.error("the stored spec of %s cannot be read: %s", job.id, error)
        return None
