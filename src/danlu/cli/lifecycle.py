"""`danlu stop`, `pause`, `resume`, `start` and `rm`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from danlu.cli.options import AsJson, JobName, JobNames

if TYPE_CHECKING:
    from danlu.wire.jobs import SelectedOut


def stop(jobs: JobNames, as_json: AsJson = False) -> None:
    """Stop jobs.

    Each gets the polite signal, and the hard one after its grace period. Quiet for jobs that are over.

    \b
    Examples:
      danlu stop train-12
      danlu stop $(danlu ps --json | jq -r '.[].id')
    """
    from danlu.client import Client

    with Client() as client:
        _report(client.jobs.stop(jobs), verb="stopping", as_json=as_json)


def rm(jobs: JobNames, as_json: AsJson = False) -> None:
    """Forget jobs that are over.

    Their logs go with them; their output stays in the store.

    \b
    Examples:
      danlu rm train-12
      danlu rm $(danlu ps --state failed --json | jq -r '.[].id')
    """
    from danlu.client import Client

    with Client() as client:
        _report(client.jobs.delete(jobs), verb="forgot", as_json=as_json)


def pause(job: JobName, as_json: AsJson = False) -> None:
    """Stop a job for now; it keeps its place and its output.

    Its devices are free for others meanwhile.

    \b
    Examples:
      danlu pause train-12
      danlu resume train-12
    """
    _one(job, "pause", as_json=as_json)


def resume(job: JobName, as_json: AsJson = False) -> None:
    """Put a paused job back in the queue.

    It goes on as a new attempt with the same id and the same output folder.

    \b
    Examples:
      danlu resume train-12
    """
    _one(job, "resume", as_json=as_json)


def start(job: JobName, as_json: AsJson = False) -> None:
    """Run a job that is over once more.

    Same id, same output folder, new attempt.

    \b
    Examples:
      danlu start train-12
      danlu start train-12 && danlu logs -f train-12
    """
    _one(job, "start", as_json=as_json)


def _one(name: str, verb: str, *, as_json: bool) -> None:
    from danlu.cli.output import print_json
    from danlu.client import Client

    with Client() as client:
        job = client.jobs.get(name)
        getattr(job, verb)()
        print_json(job.details) if as_json else print(f"{job.id} {job.state}: {job.reason.message}")


def _report(outcome: SelectedOut, *, verb: str, as_json: bool) -> None:
    from danlu.cli.output import note, print_json

    if as_json:
        print_json(outcome)
    else:
        for job in outcome.done:
            print(f"{verb} {job}")
        for job, problem in outcome.refused.items():
            note(f"danlu: {job}: {problem}")
    if outcome.refused:
        raise typer.Exit(1)
