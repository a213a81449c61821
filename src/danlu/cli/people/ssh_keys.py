"""`danlu ssh-keys ls|add|rm`"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_json

app = typer.Typer(name="ssh-keys", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
USUAL = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")


@app.callback()
def _ssh_keys() -> None:
    """List, add and remove the SSH keys that you enter jobs with."""


@app.command(context_settings=CONTEXT)
def ls(as_json: AsJson = False) -> None:
    """List your SSH keys.

    \b
    Examples:
      danlu ssh-keys ls
    """
    from danlu.cli.output import age, table
    from danlu.client import Client

    with Client() as client:
        found = client.ssh_keys.list()
    if as_json:
        echo_json(found)
        return
    rows = [
        (key.id[:16], key.fingerprint, f"{age(key.last_used_at)} ago" if key.last_used_at else "never", key.name)
        for key in found
    ]
    echo(table(("ID", "FINGERPRINT", "USED", "NAME"), rows))


@app.command(context_settings=CONTEXT)
def add(
    file: Optional[Path] = typer.Argument(None, help="A .pub file; without it, the usual one in ~/.ssh."),
    name: str = typer.Option("", help="What you call it; default: the key's comment."),
) -> None:
    """Add a public key to your account.

    \b
    Examples:
      danlu ssh-keys add
      danlu ssh-keys add ~/.ssh/work.pub --name laptop
    """
    from danlu.client import Client
    from danlu.errors import InvalidInput

    folder = Path.home() / ".ssh"
    chosen = file or next((folder / usual for usual in USUAL if (folder / usual).exists()), None)
    if chosen is None:
        raise InvalidInput(f"there is no public key in {folder}; `ssh-keygen -t ed25519` creates one")
    if not chosen.is_file():
        raise InvalidInput(f"{chosen}: expected a file")
    with Client() as client:
        added = client.ssh_keys.add(chosen.read_text(errors="replace"), name=name)
    echo(f"Added {added.fingerprint} ({added.name or added.kind}).")


@app.command(context_settings=CONTEXT)
def rm(key: str = typer.Argument(..., metavar="KEY", help="Id of a key, or how it begins.")) -> None:
    """Remove a key. Its open SSH sessions are closed.

    \b
    Examples:
      danlu ssh-keys rm 3f1c9a
    """
    from danlu.client import Client
    from danlu.errors import NotFound

    with Client() as client:
        found = [one for one in client.ssh_keys.list() if one.id.startswith(key)]
        if len(found) != 1:
            raise NotFound(f"{len(found)} of your SSH keys begin with {key!r}; `danlu ssh-keys ls` shows them")
        client.ssh_keys.remove(found[0].id)
    echo(f"Removed {found[0].fingerprint}.")
