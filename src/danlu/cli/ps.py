"""`danlu ps`"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.options import AsJson

if TYPE_CHECKING:
    from danlu.client import Client
    from danlu.wire.jobs import JobRow

_LOOK_AGAIN_SECONDS = 2.0


def ps(
    all_: bool = typer.Option(False, "--all", "-a", help="Also jobs that are over."),
    watch: bool = typer.Option(False, "--watch", "-w", help="Show the list again whenever it changes; Ctrl-C ends."),
    state: list[str] = typer.Option([], help="Only jobs in this state; repeatable."),
    name: Optional[str] = typer.Option(None, help="Only jobs of this name."),
    tag: list[str] = typer.Option([], metavar="NAME=VALUE", help="Only jobs with this tag; repeatable."),
    limit: int = typer.Option(50, "--limit", "-n", min=1, help="At most so many, the newest."),
    as_json: AsJson = False,
) -> None:
    """List jobs.

    Those that are not over, newest first; with --all or --state others too.

    \b
    Examples:
      danlu ps
      danlu ps -a -n 200
      danlu ps --state failed --tag team=vision
      danlu ps -w
      danlu ps -a --json | jq -r '.[].id'
    """
    from danlu.cli.output import print_json
    from danlu.client import Client

    tags = _tags(tag)

    def look(client: Client) -> list[JobRow]:
        found = client.jobs.list(state=_states(state), name=name, tags=tags, all=all_ or bool(state), limit=limit)
        return [job.row for job in found]

    with Client() as client:
        if watch:
            _watch(lambda: rows_text(look(client)))
            return
        rows = look(client)
    print_json(rows) if as_json else print(rows_text(rows, hint=not all_))


def rows_text(rows: list[JobRow], *, hint: bool = False) -> str:
    """The list for people; the reason comes last because it may be long."""
    from danlu.cli.output import age, lasted, state_text, table

    if not rows:
        return "no jobs" + (" that are not over; danlu ps -a shows all" if hint else "")
    header = ("ID", "NAME", "STATE", "NODES", "DEVICE", "TRY", "AGE", "RAN", "OWNER", "WHY")
    return table(
        header,
        [
            (
                row.id,
                row.name,
                state_text(row.state),
                str(row.nodes),
                row.device,
                str(row.attempt),
                age(row.created_at),
                lasted(row.started_at, row.ended_at),
                row.owner,
                row.reason.message.split("\n")[0],
            )
            for row in rows
        ],
    )


def _watch(look: object) -> None:
    import sys

    assert callable(look)
    shown = ""
    try:
        while True:
            text = look()
            if sys.stdout.isatty():
                sys.stdout.write(f"\x1b[H\x1b[2J{text}\n")
            elif text != shown:
                sys.stdout.write(f"{text}\n\n")
            sys.stdout.flush()
            shown = text
            time.sleep(_LOOK_AGAIN_SECONDS)
    except KeyboardInterrupt:
        return


def _states(words: list[str]) -> list[str]:
    from danlu.spec.states import JobState

    known = [str(state) for state in JobState]
    for word in words:
        if word not in known:
            raise typer.BadParameter(f"{word!r} is not a state; known: {', '.join(known)}", param_hint="--state")
    return words


def _tags(items: list[str]) -> dict[str, str]:
    tags = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise typer.BadParameter(f"{item!r} is not of the form NAME=VALUE", param_hint="--tag")
        tags[name] = value
    return tags
