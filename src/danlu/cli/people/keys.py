"""`danlu keys ls|new|rm`"""

from __future__ import annotations

from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_err, echo_json

app = typer.Typer(name="keys", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)


@app.callback()
def _keys() -> None:
    """List, create and delete API keys."""


@app.command(context_settings=CONTEXT)
def ls(
    user: Optional[str] = typer.Option(None, help="Keys of this user; for admins."),
    as_json: AsJson = False,
) -> None:
    """List your API keys, without the secrets.

    \b
    Examples:
      danlu keys ls
      danlu keys ls --user ada
    """
    from danlu.cli.output import age, table
    from danlu.client import Client

    with Client() as client:
        found = sorted(client.keys.list(user=user), key=lambda key: key.created_at)
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            key.id,
            f"{age(key.created_at)} ago",
            f"{key.expires_at:%Y-%m-%d}" if key.expires_at else "never",
            f"{age(key.last_used_at)} ago" if key.last_used_at else "never",
            key.name or "-",
        )
        for key in found
    ]
    echo_block(table(("ID", "MADE", "EXPIRES", "USED", "NAME"), rows))


@app.command(context_settings=CONTEXT)
def new(
    name: str = typer.Option("", help="What it is for."),
    days: Optional[int] = typer.Option(None, min=1, max=3650, help="Days until it expires; default: never."),
    signs: bool = typer.Option(False, "--signs", help="A key pair for Tencent Cloud's SDK, which signs requests."),
    as_json: AsJson = False,
) -> None:
    """Create an API key and print it once.

    \b
    Examples:
      danlu keys new --name ci --days 90
      danlu keys new --name tikit --signs
      DANLU_API_KEY=$(danlu keys new --name notebook) python notebook.py
    """
    from danlu.client import Client

    with Client() as client:
        made = client.keys.make(name, expires_in_days=days, signs=signs)
    if as_json:
        echo_json(made)
        return
    echo(made.api_key)
    if signs:
        secret_id, _, secret_key = made.api_key.partition(".")
        echo_err(f"secret id:  {secret_id}\nsecret key: {secret_key}")
    echo_err(f"key {made.id}; it is not shown again. Delete it: danlu keys rm {made.id}")


@app.command(context_settings=CONTEXT)
def rm(
    keys: list[str] = typer.Argument(..., metavar="KEY...", help="Ids from `danlu keys ls`."),
) -> None:
    """Delete API keys, with immediate effect. Admins may delete keys of all users.

    \b
    Examples:
      danlu keys rm 1f0c2b7de5a94c38
    """
    from danlu.client import Client

    with Client() as client:
        for key in keys:
            client.keys.delete(key)
            echo(f"deleted {key}")
