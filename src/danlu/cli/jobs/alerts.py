"""`danlu alerts`"""

from __future__ import annotations

from typing import Optional

import typer

from danlu.cli.language import sentence
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_json


def alerts(
    job: Optional[str] = typer.Argument(None, metavar="JOB", help="Id or name of a job; without it, all that you see."),
    show_all: bool = typer.Option(False, "--all", help="Include those that have ended."),
    as_json: AsJson = False,
) -> None:
    """Show what is wrong with running jobs.

    Idle devices, silence, memory near its limit, a loss that is not a number.

    \b
    Examples:
      danlu alerts
      danlu alerts mnist --all
    """
    from danlu.cli.output import age, table
    from danlu.client import Client

    with Client() as client:
        found = list(client.jobs.get(job).alerts() if job else client.alerts(is_open=None if show_all else True))
    if not show_all:
        found = [one for one in found if one.closed_at is None]
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            one.job or "platform",
            one.kind.value,
            age(one.opened_at),
            "over" if one.closed_at else "open",
            sentence(one.message),
        )
        for one in found
    ]
    echo_block(table(("JOB", "KIND", "SINCE", "STATE", "WHAT"), rows))
    for remedy in dict.fromkeys(f"{one.kind}: {one.remedy}" for one in found if one.closed_at is None):
        echo(remedy)
