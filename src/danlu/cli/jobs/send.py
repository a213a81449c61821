"""Shared by `submit`, `run` and `examples run`: submit a job and follow it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import typer

from danlu.cli.jobs.follow import follow
from danlu.cli.terminal import echo, echo_err, echo_json
from danlu.client import Client, Job


def send(values: Mapping[str, Any], *, folder: Optional[Path], detach: bool, as_json: bool) -> None:
    """Submit a job, follow it unless detached, and exit with its code."""
    with Client() as client:
        follow_or_leave(client.jobs.submit(values, folder=folder), detach=detach, as_json=as_json)


def follow_or_leave(job: Job, *, detach: bool, as_json: bool) -> None:
    """Print what was submitted; follow it unless detached."""
    if as_json:
        echo_json(job.details)
        return
    if detach:
        echo(job.id)
        echo_err(f"submitted {job.name}. Follow it: danlu logs -f {job.id}   Show it: danlu show {job.id}")
        return
    echo_err(f"submitted {job.name} as {job.id}")
    raise typer.Exit(follow(job))
