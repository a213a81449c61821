"""`danlu wait`"""

from __future__ import annotations

from typing import Optional

import typer

from danlu.cli.language import told
from danlu.cli.options import AsJson, JobNames
from danlu.cli.terminal import echo_err, echo_json, fail


def wait(
    jobs: JobNames,
    timeout: Optional[str] = typer.Option(None, help="Time limit, such as 10m."),
    as_json: AsJson = False,
) -> None:
    """Wait until jobs have ended.

    \b
    Exit codes: 0 all succeeded, 100 one failed, 101 one is not finished, 102 no such job, 103 one was stopped.

    \b
    Examples:
      danlu wait train-0741234
      danlu wait mnist cifar --timeout 2h
    """
    import time

    from danlu.cli.jobs.follow import NOT_FINISHED, NOT_FOUND, exit_code, say_detached, say_end, wait_for_end
    from danlu.client import Client
    from danlu.errors import NotFound

    deadline = None if timeout is None else time.monotonic() + _seconds(timeout)
    codes = []
    with Client() as client:
        try:
            found = [client.jobs.get(job) for job in jobs]
        except NotFound as error:
            fail(error.message, code=NOT_FOUND)
        for job in found:
            try:
                wait_for_end(job, deadline)
                if not as_json:
                    say_end(job)
            except TimeoutError:
                echo_err(f"{job.id} is still {job.state}: {told(job.row.said, job.reason.message)}")
            except KeyboardInterrupt:
                say_detached(job)
                raise typer.Exit(NOT_FINISHED) from None
            codes.append(exit_code(job.state))
        if as_json:
            echo_json([job.details for job in found])
    # unfinished jobs first, then the worst end
    raise typer.Exit(next((code for code in (NOT_FINISHED, 100, 103) if code in codes), 0))


def _seconds(text: str) -> float:
    from danlu.spec.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--timeout") from error
