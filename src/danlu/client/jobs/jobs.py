"""`client.jobs`: submit, find, plan and stop jobs."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, TypedDict, Union
from urllib.parse import quote

from danlu.client.files.code import prepare, with_code
from danlu.client.http import Http
from danlu.client.jobs.job import Job
from danlu.client.jobs.jobfile import read_job_file
from danlu.client.pages import pages
from danlu.errors import InvalidInput
from danlu.spec.fields import JobFields
from danlu.spec.job import JobSpec
from danlu.spec.states import JobState, is_over
from danlu.wire.jobs import FavouriteOut, JobOut, JobSummary, PlanJob, PlanOut, SelectedOut, SelectJobs, SubmitJob

if TYPE_CHECKING:
    from typing_extensions import Unpack

Spec = Union[JobSpec, Mapping[str, Any], str, "os.PathLike[str]"]
"""A job, its values as a mapping, or the path of a job file."""


class JobFilters(TypedDict, total=False):
    """Filters of lists of jobs."""

    state: Union[JobState, str, Iterable[Union[JobState, str]], None]
    name: Optional[str]
    owner: Optional[str]
    project: Optional[str]
    tags: Optional[Mapping[str, str]]
    favourites: bool


class Jobs:
    def __init__(self, http: Http) -> None:
        self._http = http

    def submit(
        self,
        spec: Optional[Spec] = None,
        *,
        folder: Optional[Path] = None,
        request_id: Optional[str] = None,
        **fields: Unpack[JobFields],
    ) -> Job:
        """Submit a job: a job file, a JobSpec, a mapping, or fields as keywords (which override those of `spec`).

            client.jobs.submit("job.yml", nodes=4)
            client.jobs.submit(name="mnist", command="python train.py", code="./src", nodes=2, launch="ddp")

        A local code folder or a git repository is uploaded first; a relative one is relative to `folder`. Raises
        InvalidSpec before anything is uploaded when a field is not valid. A retry after a lost response does not create
        a second job: the request carries an id.
        """
        spec, folder = _read(spec, folder)
        values = with_code(self._http, prepare(spec, fields, folder=folder))
        body = SubmitJob(spec=values, request_id=request_id or uuid.uuid4().hex)
        return Job(self._http, self._http.post("/jobs", JobOut, body=body, is_repeatable=True))

    def plan(
        self,
        spec: Optional[Spec] = None,
        *,
        folder: Optional[Path] = None,
        explain: bool = False,
        **fields: Unpack[JobFields],
    ) -> PlanOut:
        """Return what each rank of the job would get. Nothing is stored, started or uploaded.

        With `explain`, the result's `explanation` describes everything in it.
        """
        spec, folder = _read(spec, folder)
        values = with_code(self._http, prepare(spec, fields, folder=folder), is_uploaded=False)
        return self._http.post("/jobs/plan", PlanOut, body=PlanJob(spec=values, explain=explain), is_repeatable=True)

    def get(self, job: str) -> Job:
        """Return the job with this id, or the newest one with this name. Raises NotFound."""
        if not job.strip():
            raise InvalidInput("the name of the job is empty; give an id or a name", fields={"job": job})
        return Job(self._http, self._http.get(f"/jobs/{path_part(job)}", JobOut))

    def list(self, *, all: bool = True, limit: Optional[int] = None, **filters: Unpack[JobFilters]) -> Iterator[Job]:
        """Jobs, newest first; pages are fetched as needed. With `all=False`, only active jobs.

        client.jobs.list(owner="ada", project="vision", tags={"team": "a"}, limit=10)
        client.jobs.list(state=["failed", "stopped"], favourites=True)
        """
        if unknown := sorted(set(filters) - set(JobFilters.__annotations__)):
            raise TypeError(f"expected filters among {', '.join(JobFilters.__annotations__)}, got {unknown[0]!r}")
        state = filters.get("state")
        states = (state,) if isinstance(state, str) else tuple(state or ())
        if not states and not all:
            states = tuple(one for one in JobState if not is_over(one))
        query = {
            "state": [str(one) for one in states],
            "name": filters.get("name"),
            "owner": filters.get("owner"),
            "project": filters.get("project"),
            "tag": [f"{key}={value}" for key, value in (filters.get("tags") or {}).items()],
            "favourites": filters.get("favourites") or None,
            "limit": min(limit, 1000) if limit is not None else None,
        }
        rows = pages(self._http, "/jobs", JobSummary, query=query)
        return (Job(self._http, row) for row in islice(rows, limit))

    def stop(self, jobs: Iterable[Union[str, Job]]) -> SelectedOut:
        """Request a stop of many jobs in one request."""
        return self._select("stop", jobs)

    def delete(self, jobs: Iterable[Union[str, Job]]) -> SelectedOut:
        """Delete many jobs in one request; active jobs are rejected."""
        return self._select("delete", jobs)

    def add_favourite(self, job: Union[str, Job]) -> FavouriteOut:
        """Add a job to your favourites. Idempotent."""
        return self._http.put(f"/favourites/{path_part(_name(job))}", FavouriteOut)

    def remove_favourite(self, job: Union[str, Job]) -> None:
        """Remove a job from your favourites. Idempotent."""
        self._http.send("DELETE", f"/favourites/{path_part(_name(job))}")

    def _select(self, verb: str, jobs: Iterable[Union[str, Job]]) -> SelectedOut:
        names = [_name(job) for job in jobs]
        if not names:
            return SelectedOut(done=[])
        return self._http.post(f"/jobs/{verb}", SelectedOut, body=SelectJobs(jobs=names), is_repeatable=True)


def _name(job: Union[str, Job]) -> str:
    return job.id if isinstance(job, Job) else job


def _read(
    spec: Optional[Spec], folder: Optional[Path]
) -> tuple[Union[JobSpec, Mapping[str, Any], None], Optional[Path]]:
    """Return the values of a job file, and the folder that its code is relative to."""
    if spec is None or isinstance(spec, (JobSpec, Mapping)):
        return spec, folder
    job_file = read_job_file(Path(spec))
    return job_file.values, folder or job_file.folder


def path_part(text: str) -> str:
    """Quote a name as a segment of a path."""
    return quote(text, safe="")
