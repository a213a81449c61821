"""`danlu register`"""

from __future__ import annotations

from typing import Optional

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_json


def register(
    name: str = typer.Argument(..., help="Your user name, in lower case."),
    full_name: str = typer.Option("", "--full-name", help="Your full name."),
    email: str = typer.Option("", help="Your mail address."),
    note: str = typer.Option("", help="Note to the admin."),
    url: Optional[str] = typer.Option(None, "--url", help="Server; default: the configured one."),
    password_stdin: bool = typer.Option(False, "--password-stdin", help="Read the password from standard input."),
    as_json: AsJson = False,
) -> None:
    """Request an account.

    An admin sees the request in `danlu users ls`. Once it is approved, sign in with `danlu login --name` and
    your password. Whether a name is taken is not disclosed; the admin chooses another one then.

    \b
    Examples:
      danlu register ada --full-name 'Ada Lovelace' --email ada@example.org --note 'vision team'
      danlu register ada --url https://danlu.example.org --password-stdin < password.txt
    """
    from danlu.cli.people.login import ask_new_password
    from danlu.client.config import clean_url, load_settings
    from danlu.client.http import Http
    from danlu.client.people.people import People

    http = Http(clean_url(url) if url else load_settings().url, credentials=None)
    try:
        answer = People(http).register(
            name, ask_new_password(password_stdin), full_name=full_name, email=email, note=note
        )
    finally:
        http.close()
    echo_json(answer) if as_json else echo(answer.message)
