"""Cache of parsed job specs."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from danlu.spec.job import JobSpec, stored_job

log = logging.getLogger(__name__)
MAX_SPECS = 200_000


class SpecCache:
    """Cache of parsed specs, which never change."""

    def __init__(self) -> None:
        self._specs: OrderedDict[str, JobSpec | None] = OrderedDict()

    def add(self, values_by_id: Mapping[str, Mapping[str, Any]]) -> None:
        """Parse stored specs that are not cached."""
        for job_id, values in values_by_id.items():
            if job_id not in self._specs:
                self._specs[job_id] = _read(job_id, values)
        while len(self._specs) > MAX_SPECS:
            self._specs.popitem(last=False)

    def unknown(self, ids: Iterable[str]) -> list[str]:
        return [job_id for job_id in ids if job_id not in self._specs]

    def get(self, job_id: str) -> JobSpec | None:
        """The job's spec; None when this version cannot parse it. That must not block other jobs."""
        return self._specs.get(job_id)


def _read(job_id: str, values: Mapping[str, Any]) -> JobSpec | None:
    try:
        return stored_job(values)
    except ValidationError as error:
        log.error("cannot parse the stored spec of %s: %s", job_id, error)
        return None
