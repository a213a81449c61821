"""Runs of benchmarks on a server: start, find, wait for, stop and report them.

All state is on the server: the jobs of a run have its id as a tag, and the suite in their hyperparameters.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Optional

from danlu.bench.html import to_html
from danlu.bench.jobs import ALL, RUN_TAG, SUITE_TAG, mode_of, new_run_id, submit, suite_of
from danlu.bench.markdown import to_markdown
from danlu.bench.report import JobFacts, Report, report_job, report_run
from danlu.bench.results import collect
from danlu.bench.suite import Mode, Suite
from danlu.client import Client, Job
from danlu.errors import InvalidInput, NotFound

FORMATS = {"json": "report.json", "markdown": "report.md", "html": "report.html"}


class Run(NamedTuple):
    id: str
    suite: Suite
    jobs: list[Job]

    @property
    def is_over(self) -> bool:
        return all(job.is_over for job in self.jobs)


def start(client: Client, suite: Suite, *, mode: Mode = Mode.NORMAL, nodes: Sequence[int] = ()) -> Run:
    """Submit the jobs of a run, one for each number of nodes."""
    run_id = new_run_id()
    counts = sorted(set(nodes)) or [suite.nodes]
    if counts[0] < 1:
        raise InvalidInput(f"expected at least 1 node, got {counts[0]}", fields={"nodes": str(counts[0])})
    jobs = [submit(client, suite, run_id=run_id, mode=mode, nodes=count) for count in counts]
    return Run(run_id, suite, jobs)


def find(client: Client, name: str) -> Run:
    """A run by its id, by the id of one of its jobs, or the newest one of a suite. Raise NotFound."""
    jobs = list(client.jobs.list(tags={RUN_TAG: name})) if name.startswith("bench-") else []
    if name.startswith("train-"):
        job = client.jobs.get(name)
        suite_of(job)
        jobs = list(client.jobs.list(tags={RUN_TAG: job.row.tags[RUN_TAG]}))
    elif not jobs:
        newest = next(client.jobs.list(tags={SUITE_TAG: name}, limit=1), None)
        jobs = [] if newest is None else list(client.jobs.list(tags={RUN_TAG: newest.row.tags[RUN_TAG]}))
    if not jobs:
        raise NotFound(f"no run {name!r} of a benchmark; expected the id of a run, of a job, or the name of a suite")
    return _run(jobs)


def history(client: Client, suite: Optional[str] = None, *, limit: int = 20) -> Iterator[Run]:
    """Runs of a suite, or of all, newest first."""
    seen: set[str] = set()
    for job in client.jobs.list(tags=ALL if suite is None else {SUITE_TAG: suite}):
        run_id = job.row.tags[RUN_TAG]
        if run_id in seen:
            continue
        if len(seen) == limit:
            return
        seen.add(run_id)
        yield _run(list(client.jobs.list(tags={RUN_TAG: run_id})))


def wait(run: Run, *, timeout_seconds: Optional[float] = None) -> None:
    """Wait until all jobs have ended. By default, the limit follows from the suite's limits for waiting and running.

    Raise TimeoutError; the run continues then.
    """
    limit = 2 * run.suite.timeout * len(run.jobs) if timeout_seconds is None else timeout_seconds
    deadline = time.monotonic() + limit
    for job in run.jobs:
        job.wait(max(0.1, deadline - time.monotonic()))


def stop(client: Client, run: Run) -> None:
    """Stop the jobs that have not ended."""
    client.jobs.stop([job for job in run.jobs if not job.refresh().is_over])


def make_report(client: Client, run: Run) -> Report:
    """Collect the results of the ranks, check and aggregate them."""
    jobs = [report_job(run.suite, _facts(job.refresh()), collected=collect(client, job)) for job in run.jobs]
    return report_run(run.id, run.suite, jobs=jobs)


def keep_report(client: Client, run: Run, *, report: Report) -> str:
    """Store the report beside the results, and return the folder."""
    folder = f"{run.jobs[0].output.rstrip('/')}/bench/"
    with TemporaryDirectory(prefix="danlu-bench-") as name:
        for kind, file in FORMATS.items():
            (Path(name) / file).write_text(render(report, kind), encoding="utf-8")
        client.store.upload(name, folder)
    return folder


def render(report: Report, kind: str) -> str:
    if kind == "json":
        return report.model_dump_json(indent=1) + "\n"
    if kind == "markdown":
        return to_markdown(report)
    if kind == "html":
        return to_html(report)
    raise InvalidInput(f"expected one of {', '.join(FORMATS)}, got {kind!r}", fields={"format": kind})


def _run(jobs: Sequence[Job]) -> Run:
    first = min(jobs, key=lambda job: job.row.nodes)
    return Run(first.row.tags[RUN_TAG], suite_of(first), sorted(jobs, key=lambda job: job.row.nodes))


def _facts(job: Job) -> JobFacts:
    details = job.details
    newest = details.attempts[-1] if details.attempts else None
    return JobFacts(
        id=job.id,
        state=job.state,
        reason=job.reason.message,
        nodes=details.nodes,
        mode=mode_of(job),
        failed_task=newest.first_failed_rank if newest is not None else None,
        started_at=details.started_at,
        ended_at=details.ended_at,
    )
