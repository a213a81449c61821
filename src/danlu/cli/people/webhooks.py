"""`danlu webhooks ls|add|rm|test|deliveries`"""

from __future__ import annotations

from itertools import islice
from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_json

app = typer.Typer(name="webhooks", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
Webhook = typer.Argument(..., metavar="WEBHOOK", help="Id of a webhook.")


@app.callback()
def _webhooks() -> None:
    """List, add, test and remove addresses that receive events."""


@app.command(context_settings=CONTEXT)
def ls(as_json: AsJson = False) -> None:
    """List your webhooks.

    \b
    Examples:
      danlu webhooks ls
    """
    from danlu.cli.output import table
    from danlu.client import Client

    with Client() as client:
        found = client.webhooks.list()
    if as_json:
        echo_json(found)
        return
    rows = [
        (one.id, one.project or one.scope.value, ",".join(kind.value for kind in one.kinds), one.url) for one in found
    ]
    echo_block(table(("ID", "OF", "KINDS", "URL"), rows))


@app.command(context_settings=CONTEXT)
def add(
    url: str = typer.Argument(..., metavar="URL", help="Where events are sent, with https://."),
    kind: Optional[list[str]] = typer.Option(None, help="Such as job.failed or alert.opened; may be repeated."),
    project: Optional[str] = typer.Option(None, help="Of all jobs of a project; for its owners."),
    everything: bool = typer.Option(False, "--all", help="Of all jobs and of the platform itself; for admins."),
) -> None:
    """Add a webhook, and print the secret that its deliveries are signed with.

    \b
    Examples:
      danlu webhooks add https://example.com/hook
      danlu webhooks add https://example.com/hook --kind job.failed --project vision
    """
    from danlu.client import Client

    scope = "all" if everything else "project" if project else "mine"
    with Client() as client:
        made = client.webhooks.add(url, kinds=kind or None, scope=scope, project=project)
    echo(f"Added {made.id}. Its secret, which is shown this once:\n{made.secret}")


@app.command(context_settings=CONTEXT)
def rm(webhook: str = Webhook) -> None:
    """Remove a webhook, and what is still to be sent to it.

    \b
    Examples:
      danlu webhooks rm wh-3f1c9a0011223344
    """
    from danlu.client import Client

    with Client() as client:
        client.webhooks.remove(webhook)
    echo(f"Removed {webhook}.")


@app.command(context_settings=CONTEXT)
def test(webhook: str = Webhook) -> None:  # noqa: PT028  a command
    """Have an event of the kind `test` sent; `danlu webhooks deliveries` shows what became of it.

    \b
    Examples:
      danlu webhooks test wh-3f1c9a0011223344
    """
    from danlu.client import Client

    with Client() as client:
        sent = client.webhooks.test(webhook)
    echo(f"{sent.id} is on its way.")


@app.command(context_settings=CONTEXT)
def deliveries(
    webhook: str = Webhook,
    limit: int = typer.Option(20, min=1, help="At most so many."),
    as_json: AsJson = False,
) -> None:
    """List what was sent to a webhook, newest first.

    \b
    Examples:
      danlu webhooks deliveries wh-3f1c9a0011223344
    """
    from danlu.cli.output import age, table
    from danlu.client import Client

    with Client() as client:
        found = list(islice(client.webhooks.deliveries(webhook), limit))
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            *(one.id[:16], one.kind.value, age(one.created_at), one.state.value),
            *(str(one.num_tries), str(one.status or ""), one.problem),
        )
        for one in found
    ]
    echo_block(table(("ID", "KIND", "AGE", "STATE", "TRIES", "STATUS", "PROBLEM"), rows))
