"""`danlu ps`"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Callable, Optional

import typer

from danlu.cli.language import told
from danlu.cli.options import AsJson, pairs
from danlu.cli.terminal import clear_screen, echo_block, echo_json, say_more

if TYPE_CHECKING:
    from danlu.client import Client
    from danlu.wire.jobs import JobSummary

_LOOK_AGAIN_SECONDS = 2.0
_WIDE = 120


def ps(
    all_: bool = typer.Option(False, "--all", "-a", help="Include ended jobs."),
    watch: bool = typer.Option(False, "--watch", "-w", help="Update the list; Ctrl-C ends."),
    state: list[str] = typer.Option([], help="Only jobs in this state; repeatable."),
    name: Optional[str] = typer.Option(None, help="Only jobs of this name."),
    owner: Optional[str] = typer.Option(None, "--owner", "-u", help="Only jobs of this user."),
    project: Optional[str] = typer.Option(None, "--project", "-p", help="Only jobs of this project."),
    tag: list[str] = typer.Option([], metavar="NAME=VALUE", help="Only jobs with this tag; repeatable."),
    favourites: bool = typer.Option(False, "--favourites", help="Only your favourites, ended ones too."),
    limit: int = typer.Option(50, "--limit", "-n", min=1, help="Maximum number, newest first."),
    as_json: AsJson = False,
) -> None:
    """List jobs.

    Active jobs, newest first; with --all, --state or --favourites also ended ones.

    \b
    Examples:
      danlu ps
      danlu ps -a -n 200
      danlu ps --state failed --tag team=vision
      danlu ps --favourites
      danlu ps --owner ada --project vision
      danlu ps -w
      danlu ps -a --json | jq -r '.[].id'
    """
    from danlu.client import Client

    tags, with_ended = pairs(tag, "--tag"), all_ or favourites

    def look(client: Client) -> list[JobSummary]:
        found = client.jobs.list(
            state=_states(state),
            name=name,
            owner=owner,
            project=project,
            tags=tags,
            favourites=favourites,
            all=with_ended or bool(state),
            limit=limit + 1,
        )
        return [job.row for job in found]

    with Client() as client:
        if watch:
            _watch(lambda: rows_text(look(client)[:limit]))
            return
        rows = look(client)
    shown = rows[:limit]
    echo_json(shown) if as_json else echo_block(rows_text(shown, hint=not with_ended))
    say_more(len(rows), limit)


def rows_text(rows: list[JobSummary], *, hint: bool = False) -> str:
    """The list as a table. The reason is last, because it may be long; a narrow screen omits two columns."""
    from danlu.cli.output import age, lasted, screen_width, state_text, table

    if not rows:
        return "no active jobs; danlu ps -a shows all" if hint else "no jobs"
    columns = [
        ("ID", [row.id for row in rows]),
        ("NAME", [row.name for row in rows]),
        ("STATE", [state_text(row.state) for row in rows]),
        ("ON", [row.on or f"{row.nodes}x {row.device}" for row in rows]),
        ("TRY", [str(row.attempt) for row in rows]),
        ("OWNER", [row.owner for row in rows]),
        ("AGE", [age(row.created_at) for row in rows]),
        ("RAN", [lasted(row.started_at, row.ended_at) for row in rows]),
        ("COST", [_cost(row) for row in rows]),
        ("WHY", [told(row.said, row.reason.message).split("\n")[0] for row in rows]),
    ]
    if all(row.cost is None for row in rows):
        columns = [column for column in columns if column[0] != "COST"]
    width = screen_width()
    if width is not None and width < _WIDE:
        columns = [column for column in columns if column[0] not in ("TRY", "OWNER")]
    return table([title for title, _ in columns], zip(*(cells for _, cells in columns)))


def _cost(row: JobSummary) -> str:
    from danlu.spec.money import show_cost

    return "-" if row.cost is None or row.currency is None else show_cost(row.cost, row.currency)


def _watch(look: Callable[[], str]) -> None:
    shown = ""
    try:
        while True:
            text = look()
            if sys.stdout.isatty():
                clear_screen()
                echo_block(text)
            elif text != shown:
                echo_block(f"{text}\n")
            shown = text
            time.sleep(_LOOK_AGAIN_SECONDS)
    except KeyboardInterrupt:
        return


def _states(words: list[str]) -> list[str]:
    from danlu.spec.states import JobState

    known = [str(state) for state in JobState]
    for word in words:
        if word not in known:
            raise typer.BadParameter(f"expected one of {', '.join(known)}, got {word!r}", param_hint="--state")
    return words
