"""What `submit`, `run` and `examples run` have in common: send a job, then follow it or leave it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import typer

from danlu.cli.jobs.follow import follow
from danlu.cli.terminal import echo, echo_err, echo_json
from danlu.client import Client, Job


def send(values: Mapping[str, Any], *, folder: Optional[Path], detach: bool, as_json: bool) -> None:
    """Submit; then exit with the code of how the job ended, unless told to leave it alone."""
    with Client() as client:
        follow_or_leave(client.jobs.submit(values, folder=folder), detach=detach, as_json=as_json)


def follow_or_leave(job: Job, *, detach: bool, as_json: bool) -> None:
    """Say what was submitted; follow it to its end, unless told to leave it alone."""
    if as_json:
        echo_json(job.details)
        return
    if detach:
        echo(job.id)
        echo_err(f"submitted {job.name}. Follow it: danlu logs -f {job.id}   See it: danlu show {job.id}")
        return
    echo_err(f"submitted {job.name} as {job.id}")
    raise typer.Exit(follow(job))
