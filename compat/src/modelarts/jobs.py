"""Convert the arguments of an Estimator to a Danlu job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from itertools import islice
from typing import Any, Optional

from danlu.client import Client, Job
from danlu.client.jobs.foreign import convert
from modelarts.paths import obs_path

NAME_TAG, VERSION_TAG = "modelarts-job", "modelarts-version"


def job_values(told: Mapping[str, Any], *, version: str) -> dict[str, Any]:
    """Return the fields of a job. Empty values, and the word None, count as omitted."""
    given = {name: value for name, value in told.items() if value not in (None, "", "None")}
    values = dict(convert(given, "modelarts").values)
    values["tags"] = {NAME_TAG: str(told["job_name"]), VERSION_TAG: version}
    return values


def first_values(told: Mapping[str, Any], *, inputs: str, output: str, version: str) -> dict[str, Any]:
    """For the first version of ModelArts: the script gets OBS paths and copies its data with moxing."""
    values = job_values({**told, "inputs": None, "output_path": None}, version=version)
    urls = {"data_url": obs_path(inputs), "train_url": obs_path(output)}
    values["hyperparameters"] = {**urls, **values.get("hyperparameters", {})}
    values["access"] = "owner"
    return values


def versions(client: Client, name: str) -> Iterator[Job]:
    """Return the jobs submitted under a name, newest first."""
    return client.jobs.list(tags={NAME_TAG: name})


def newest(client: Client, name: str) -> Optional[Job]:
    return next(islice(versions(client, name), 1), None)


def duration_ms(job: Job, now: Optional[datetime] = None) -> int:
    """Return how long the job has run."""
    row = job.row
    if row.started_at is None:
        return 0
    return int(((row.ended_at or now or datetime.now(timezone.utc)) - row.started_at).total_seconds() * 1000)
