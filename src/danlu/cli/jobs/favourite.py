"""`danlu favourite`"""

from __future__ import annotations

import typer

from danlu.cli.options import JobNames
from danlu.cli.terminal import echo


def favourite(
    jobs: JobNames, remove: bool = typer.Option(False, "--remove", "-r", help="Remove them from your favourites.")
) -> None:
    """Mark jobs as favourites, to find them again.

    Only you see your favourites. `danlu ps --favourites` lists them.

    \b
    Examples:
      danlu favourite mnist
      danlu favourite --remove mnist
      danlu ps --favourites
    """
    from danlu.client import Client

    with Client() as client:
        for name in jobs:
            job = client.jobs.get(name)
            if remove:
                client.jobs.remove_favourite(job)
                echo(f"{job.id} is no longer a favourite")
            else:
                client.jobs.add_favourite(job)
                echo(f"{job.id} is a favourite; `danlu ps --favourites` lists them")
