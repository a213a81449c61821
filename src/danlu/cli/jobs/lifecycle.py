"""`danlu stop`, `pause`, `resume`, `start` and `rm`"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Callable

import typer

from danlu.cli.options import AsJson, JobName, JobNames
from danlu.cli.terminal import echo, echo_err, echo_json

if TYPE_CHECKING:
    from danlu.client import Client, Job
    from danlu.wire.jobs import SelectedOut


SEVERAL = "several jobs "
"""How the server begins to say that a name means more than one job."""


def stop(jobs: JobNames, as_json: AsJson = False) -> None:
    """Stop jobs.

    Each process receives SIGTERM, and SIGKILL after the grace period. Ended jobs do not change. A name means the
    job of that name that has not ended; when there are several, none is stopped (exit code 2).

    \b
    Examples:
      danlu stop train-0741234
      danlu stop $(danlu ps --json | jq -r '.[].id')
    """
    from danlu.client import Client

    with Client() as client:
        open_ids = set() if as_json else {job.id for job in client.jobs.list(all=False, limit=sys.maxsize)}
        outcome = client.jobs.stop(jobs)
        over = {} if as_json else _over(client, [job for job in outcome.done if job not in open_ids])
    _report(outcome, verb="stopping", as_json=as_json, instead=over)


def rm(
    jobs: JobNames,
    output: bool = typer.Option(False, "--output", help="Delete what they stored as output, too."),
    as_json: AsJson = False,
) -> None:
    """Delete ended jobs.

    Their logs are deleted too; their output stays in the store, unless --output is given.

    \b
    Examples:
      danlu rm train-0741234
      danlu rm train-0741234 --output
      danlu rm $(danlu ps --state failed --json | jq -r '.[].id')
    """
    from danlu.client import Client

    with Client() as client:
        outputs = _outputs(client, jobs) if output else {}
        outcome = client.jobs.delete(jobs)
        for job in outcome.done:
            if job in outputs:
                client.store.delete(outputs[job])
        _report(outcome, verb="deleted", as_json=as_json)


def pause(job: JobName, as_json: AsJson = False) -> None:
    """Pause a job; it keeps its id and output.

    Its devices are free for other jobs.

    \b
    Examples:
      danlu pause train-0741234
      danlu resume train-0741234
    """
    _one(job, "pause", told=_pausing, as_json=as_json)


def resume(job: JobName, as_json: AsJson = False) -> None:
    """Queue a paused job again.

    It runs as a new attempt with the same id and output folder.

    \b
    Examples:
      danlu resume train-0741234
    """
    _one(job, "resume", told=lambda job: f"resuming {job.id}: it is queued", as_json=as_json)


def start(job: JobName, as_json: AsJson = False) -> None:
    """Run an ended job again.

    Same id, same output folder, new attempt.

    \b
    Examples:
      danlu start train-0741234
      danlu start train-0741234 && danlu logs -f train-0741234
    """
    told = "it is queued for a new attempt"
    _one(job, "start", told=lambda job: f"starting {job.id} again: {told}", as_json=as_json)


def _one(name: str, verb: str, *, told: Callable[[Job], str], as_json: bool) -> None:
    from danlu.client import Client

    with Client() as client:
        job = client.jobs.get(name)
        getattr(job, verb)()
        echo_json(job.details) if as_json else echo(told(job))


def _pausing(job: Job) -> str:
    """What happens next; the state is still the old one."""
    from danlu.spec.states import JobState, is_live
    from danlu.spec.units import show_duration

    back = f"`danlu resume {job.id}` queues it again"
    if job.state is JobState.PAUSED:
        return f"{job.id} is already paused; {back}"
    if is_live(job.state):
        return f"pausing {job.id}: its processes have {show_duration(job.details.spec['grace'])} to end; {back}"
    return f"pausing {job.id}: it will not start; {back}"


def _outputs(client: Client, jobs: list[str]) -> dict[str, str]:
    """Id -> output folder of the jobs that are there."""
    from danlu.errors import DanluError

    found: dict[str, str] = {}
    for name in jobs:
        with contextlib.suppress(DanluError):  # why it cannot be deleted is told by the server
            job = client.jobs.get(name)
            found[job.id] = job.output
    return found


def _over(client: Client, ids: list[str]) -> dict[str, str]:
    """Messages for jobs that had already ended."""
    found = [client.jobs.get(job) for job in ids]
    return {job.id: f"{job.id} has already ended: {job.state}" for job in found if job.is_over}


def _report(outcome: SelectedOut, *, verb: str, as_json: bool, instead: Mapping[str, str] = {}) -> None:

    if as_json:
        echo_json(outcome)
    else:
        for job in outcome.done:
            echo(instead.get(job, f"{verb} {job}"))
        for job, problem in outcome.refused.items():
            echo_err(f"danlu: {problem}" if job in problem else f"danlu: {job}: {problem}")
    if outcome.refused:
        is_unclear = any(problem.startswith(SEVERAL) for problem in outcome.refused.values())
        raise typer.Exit(2 if is_unclear else 1)
