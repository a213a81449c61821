"""`danlu login`, `logout`, `whoami` and `passwd`"""

from __future__ import annotations

import sys
from typing import Optional

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_err, echo_json


def login(
    link: Optional[str] = typer.Argument(None, metavar="[LINK]", help="The one-time link that `danlu up` printed."),
    name: Optional[str] = typer.Option(None, "--name", help="Sign in with this name and a password instead."),
    url: Optional[str] = typer.Option(None, "--url", help="Server, with --name; default: the configured one."),
    password_stdin: bool = typer.Option(False, "--password-stdin", help="Read the password from standard input."),
    new_password: bool = typer.Option(False, "--new-password", help="With a LINK: also set a password."),
) -> None:
    """Sign in and store an API key.

    The key is stored in ~/.danlu/config.yml (or the file in DANLU_CONFIG), which only you can read.
    DANLU_URL and DANLU_API_KEY override it.

    \b
    Examples:
      danlu login 'http://127.0.0.1:8400/signin?token=...'
      danlu login --new-password 'https://danlu.example.org/signin?token=...'
      danlu login --name ada
      danlu login --name ada --url https://danlu.example.org --password-stdin < password.txt
    """
    import socket

    from danlu.client.bodies import body
    from danlu.client.config import clean_url, load_settings, read_file, save, user_file
    from danlu.client.people.keys import parse_link, sign_in
    from danlu.wire.auth import SignIn

    if (link is None) == (name is None):
        raise typer.BadParameter("expected either the LINK of `danlu up`, or --name")
    if new_password and link is None:
        raise typer.BadParameter("--new-password needs a LINK; use `danlu passwd` to change a known password")
    if link is not None:
        found = parse_link(link)
        chosen = ask_new_password(password_stdin) if new_password else None
        address, credentials = found.url, body(SignIn, token=found.token, new_password=chosen)
    else:
        address = clean_url(url) if url else load_settings().url
        credentials = body(SignIn, name=name, password=ask_password(password_stdin))
    key = sign_in(address, credentials, key_name=f"danlu login on {socket.gethostname()}"[:100])
    kept = {name: value for name, value in read_file(user_file()).items() if name == "code"}
    save(user_file(), {"url": address, "api_key": key.api_key, "key_id": key.id, **kept})
    echo(f"signed in at {address}; the key is in {user_file()}")


def logout() -> None:
    """Delete the stored API key, here and on the server.

    \b
    Examples:
      danlu logout
    """
    from danlu.client import Client
    from danlu.client.config import read_file, save, user_file
    from danlu.errors import DanluError

    path = user_file()
    kept = read_file(path)
    if "api_key" not in kept:
        echo("not signed in")
        return
    if "key_id" in kept:
        try:
            with Client(url=kept.get("url"), api_key=kept["api_key"]) as client:
                client.keys.delete(kept["key_id"])
        except DanluError as error:
            echo_err(f"danlu: the key is deleted here, but not on the server: {error.message}")
    save(path, {name: value for name, value in kept.items() if name in ("url", "code")})
    echo(f"signed out; {path} has no key")


def whoami(as_json: AsJson = False) -> None:
    """Show your user name and server; inside a job, the job.

    \b
    Examples:
      danlu whoami
      danlu whoami --json | jq -r .name
    """
    from danlu.client import Client

    with Client() as client:
        me = client.me()
    if as_json:
        echo_json(me)
        return
    settings = client.settings
    if me.job is not None:
        echo(f"{me.job} attempt {me.attempt}, a job of {me.name} in {', '.join(me.projects)}, at {settings.url}")
        echo(f"  access {me.access}")
        return
    echo(f"{me.name}{' (admin)' if me.is_admin else ''} at {settings.url}")
    shown = ", ".join(f"{project} ({role})" for project, role in sorted(me.roles.items()))
    echo(f"  projects {shown or '-'}")
    echo(f"  default  {me.default_project or '-'}")
    echo(f"  address from {settings.url_from}, key from {settings.key_from}")


def passwd(
    password_stdin: bool = typer.Option(
        False, "--password-stdin", help="Read the current password (if you have one) and the new one, one per line."
    ),
) -> None:
    """Change your password.

    Browser sessions and unused links become invalid; API keys stay valid.

    \b
    Examples:
      danlu passwd
    """
    from danlu.client import Client

    with Client() as client:
        me = client.me()
        current = ask_password(password_stdin, "current password: ") if me.has_password else None
        client.set_password(ask_new_password(password_stdin), current=current)
    echo(f"the password of {me.name} is changed")


def ask_password(from_stdin: bool, prompt: str = "password: ") -> str:
    """A password from the terminal, or from standard input."""
    if from_stdin or not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    import getpass

    return getpass.getpass(prompt)


def ask_new_password(from_stdin: bool) -> str:
    """Ask for a new password, twice on a terminal."""
    chosen = ask_password(from_stdin, "new password: ")
    if not from_stdin and sys.stdin.isatty() and ask_password(False, "again: ") != chosen:
        raise typer.BadParameter("the passwords differ")
    return chosen
