"""`danlu notices ls|read|email`"""

from __future__ import annotations

from itertools import islice
from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.language import sentence
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_json

app = typer.Typer(name="notices", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)


@app.callback()
def _notices() -> None:
    """Show your notices: ends of your jobs, and alerts about them."""


@app.command(context_settings=CONTEXT)
def ls(limit: int = typer.Option(20, min=1, help="At most so many."), as_json: AsJson = False) -> None:
    """List your notices, newest first.

    \b
    Examples:
      danlu notices ls
    """
    from danlu.cli.output import age, table
    from danlu.client import Client

    with Client() as client:
        found = list(islice(client.notices.list(), limit))
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            str(one.id),
            "" if one.is_read else "new",
            age(one.at),
            one.kind.value,
            one.job_name or "platform",
            # what a script said stays as it is, however much it reads like ours
            one.message if one.kind.value == "run.alert" else sentence(one.message),
        )
        for one in found
    ]
    echo_block(table(("ID", "", "AGE", "KIND", "JOB", "WHAT"), rows))


@app.command(context_settings=CONTEXT)
def read(
    up_to: Optional[int] = typer.Argument(None, metavar="ID", help="This one and all before it; without it, all."),
) -> None:
    """Mark notices as read.

    \b
    Examples:
      danlu notices read
    """
    from danlu.client import Client

    with Client() as client:
        newest = up_to if up_to is not None else next((one.id for one in client.notices.list()), 0)
        client.notices.mark_read(newest)
        left = client.notices.num_unread()
    echo(f"{left} unread.")


@app.command(context_settings=CONTEXT)
def email(
    kinds: Optional[list[str]] = typer.Argument(None, metavar="KIND...", help="Such as job.failed and alert.opened."),
    none: bool = typer.Option(False, "--none", help="Turn off e-mail."),
) -> None:
    """Show or choose the events that you get an e-mail for.

    \b
    Examples:
      danlu notices email
      danlu notices email job.succeeded job.failed alert.opened
    """
    from danlu.client import Client

    with Client() as client:
        wishes = client.notices.set_wishes(kinds or []) if kinds or none else client.notices.wishes()
    chosen = ", ".join(kind.value for kind in wishes.email) or "nothing"
    echo(f"E-mail to {wishes.address or '(your account has no address)'} for: {chosen}.")
    if not wishes.has_mail:
        echo("This server sends no e-mail: no smtp_host is set.")
