"""`danlu register`"""

from __future__ import annotations

from typing import Optional

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_json


def register(
    name: str = typer.Argument(..., help="What you want to be called, in small letters."),
    full_name: str = typer.Option("", "--full-name", help="What people call you."),
    email: str = typer.Option("", help="Where the admin can reach you."),
    note: str = typer.Option("", help="For the admin: who you are, what you need it for."),
    url: Optional[str] = typer.Option(None, "--url", help="Server; the configured one when left out."),
    password_stdin: bool = typer.Option(False, "--password-stdin", help="Read the password from standard input."),
    as_json: AsJson = False,
) -> None:
    """Ask to be let in.

    An admin sees your request with `danlu users ls`. After that `danlu login --name` works with the
    password that you chose. Nobody is told whether a name is taken: if yours is, the admin gives you another.

    \b
    Examples:
      danlu register ada --full-name 'Ada Lovelace' --email ada@example.org --note 'vision team'
      danlu register ada --url https://danlu.example.org --password-stdin < password.txt
    """
    from danlu.cli.people.login import ask_new_password
    from danlu.client.config import clean_url, load_settings
    from danlu.client.http import Http
    from danlu.client.people.people import People

    http = Http(clean_url(url) if url else load_settings().url, api_key=None)
    try:
        answer = People(http).register(
            name, ask_new_password(password_stdin), full_name=full_name, email=email, note=note
        )
    finally:
        http.close()
    echo_json(answer) if as_json else echo(answer.message)
