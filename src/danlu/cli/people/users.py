"""`danlu users ls|show|approve|reject|invite|disable|enable|reset|admin`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_err, echo_json

if TYPE_CHECKING:
    from danlu.wire.people import LinkOut, UserOut

app = typer.Typer(name="users", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
Name = Annotated[str, typer.Argument(metavar="NAME", help="A user name.")]
Project = Annotated[Optional[str], typer.Option("--project", help="Add the user to this project.")]
Role = Annotated[str, typer.Option("--role", help="Role in the project: owner, member or viewer.")]


@app.callback()
def _users() -> None:
    """Approve, invite and disable users.

    Registered users wait for approval; invited users get a link.
    """


@app.command(context_settings=CONTEXT)
def ls(as_json: AsJson = False) -> None:
    """List users; for admins also registrations.

    \b
    Examples:
      danlu users ls
      danlu users ls --json | jq -r '.waiting[].id'
    """
    from danlu.cli.output import age, table
    from danlu.client import Client

    with Client() as client:
        waiting = list(client.people.waiting()) if client.me().is_admin else []
        found = list(client.people.list())
    if as_json:
        echo_json({"users": found, "waiting": waiting})
        return
    rows = [
        (user.name, str(user.state), "admin" if user.is_admin else "-", _ago(user.signed_in_at), user.full_name or "-")
        for user in found
    ]
    echo_block(table(("NAME", "STATE", "ADMIN", "SIGNED IN", "FULL NAME"), rows))
    if not waiting:
        return
    echo_err()
    asking = [
        (
            one.id,
            f"{one.name} (taken)" if one.is_name_taken else one.name,
            f"{age(one.created_at)} ago",
            one.address or "-",
            " ".join(word for word in (one.full_name, one.email, one.note.replace("\n", " ")) if word) or "-",
        )
        for one in waiting
    ]
    echo_block(table(("WAITING", "NAME", "ASKED", "FROM", "WHO"), asking))
    echo_err("approve a request: danlu users approve NAME   reject it: danlu users reject NAME")


@app.command(context_settings=CONTEXT)
def show(name: Name, as_json: AsJson = False) -> None:
    """Show a user: state, projects, roles and active jobs.

    \b
    Examples:
      danlu users show ada
    """
    from danlu.client import Client

    with Client() as client:
        _print_user(client.people.get(name), as_json)


@app.command(context_settings=CONTEXT)
def approve(
    who: str = typer.Argument(..., metavar="WHO", help="Requested name, or id of the request."),
    name: Optional[str] = typer.Option(None, "--name", help="A different user name."),
    project: Project = None,
    role: Role = "member",
    link: Optional[str] = typer.Option(
        None, help="Link the request to this existing user, who then signs in by OpenID Connect."
    ),
    as_json: AsJson = False,
) -> None:
    """Approve a registration.

    \b
    Examples:
      danlu users approve ada --project vision
      danlu users approve 019f8d3a1c2b4e5f --name ada2 --project vision --role viewer
    """
    from danlu.client import Client

    with Client() as client:
        _print_user(client.people.approve(who, name=name, project=project, role=role, link=link), as_json)


@app.command(context_settings=CONTEXT)
def reject(
    who: str = typer.Argument(..., metavar="WHO", help="Requested name, or id of the request."),
) -> None:
    """Reject and delete a registration.

    \b
    Examples:
      danlu users reject mallory
    """
    from danlu.client import Client

    with Client() as client:
        client.people.reject(who)
    echo(f"rejected {who}")


@app.command(context_settings=CONTEXT)
def invite(
    name: Name,
    full_name: str = typer.Option("", "--full-name", help="Full name."),
    email: str = typer.Option("", help="Mail address."),
    admin: bool = typer.Option(False, "--admin", help="Make the user an admin."),
    project: Project = None,
    role: Role = "member",
    as_json: AsJson = False,
) -> None:
    """Create an account and print a sign-in link, valid once and for a day.

    Send it yourself: Danlu sends no mail. The user signs in with it and sets a password.

    \b
    Examples:
      danlu users invite ada --project vision
      danlu users invite grace --admin
    """
    from danlu.client import Client

    with Client() as client:
        made = client.people.invite(name, full_name=full_name, email=email, is_admin=admin, project=project, role=role)
    _print_link(made, as_json)


@app.command(context_settings=CONTEXT)
def reset(
    name: Name,
    end_access: bool = typer.Option(
        False, "--end-access", help="Also revoke password, sessions and API keys, if the account may be compromised."
    ),
    as_json: AsJson = False,
) -> None:
    """Print a one-time link to sign in and set a new password.

    \b
    Examples:
      danlu users reset ada
      danlu users reset ada --end-access
    """
    from danlu.client import Client

    with Client() as client:
        made = client.people.reset(name, ends_access=end_access)
    _print_link(made, as_json)


@app.command(context_settings=CONTEXT)
def disable(
    name: Name,
    stop_jobs: bool = typer.Option(False, "--stop-jobs", help="Also stop the user's jobs."),
    as_json: AsJson = False,
) -> None:
    """Disable a user: sessions, links and API keys become invalid at once.

    Their jobs keep running unless --stop-jobs is given. Files and jobs stay.

    \b
    Examples:
      danlu users disable mallory --stop-jobs
    """
    from danlu.client import Client

    with Client() as client:
        user = client.people.disable(name, stops_jobs=stop_jobs)
    if as_json:
        echo_json(user)
        return
    echo(f"{name} is disabled")
    if user.num_open_jobs and not stop_jobs:
        echo_err(f"{user.num_open_jobs} of their jobs keep running. Stop them: danlu users disable {name} --stop-jobs")


@app.command(context_settings=CONTEXT)
def enable(name: Name, as_json: AsJson = False) -> None:
    """Enable a user again, with the old password. API keys must be created again.

    \b
    Examples:
      danlu users enable ada
    """
    from danlu.client import Client

    with Client() as client:
        _print_user(client.people.enable(name), as_json)


@app.command(context_settings=CONTEXT)
def admin(
    name: Name,
    off: bool = typer.Option(False, "--off", help="Remove the admin role."),
    as_json: AsJson = False,
) -> None:
    """Grant or remove the admin role.

    \b
    Examples:
      danlu users admin grace
      danlu users admin grace --off
    """
    from danlu.client import Client

    with Client() as client:
        _print_user(client.people.change(name, is_admin=not off), as_json)


def _print_user(user: UserOut, as_json: bool) -> None:
    from danlu.cli.output import facts

    if as_json:
        echo_json(user)
        return
    values = {
        "full name": user.full_name or "",
        "mail": user.email or "",
        "projects": ", ".join(f"{project} ({role})" for project, role in sorted((user.projects or {}).items())),
        "open jobs": "" if user.num_open_jobs is None else str(user.num_open_jobs),
        "signed in": _ago(user.signed_in_at) if user.signed_in_at else "",
    }
    echo_block(facts(f"{user.name}{' (admin)' if user.is_admin else ''} is {user.state}", values))


def _print_link(made: LinkOut, as_json: bool) -> None:

    if as_json:
        echo_json(made)
        return
    echo(made.url)
    echo_err(f"for {made.user}, once, until {made.expires_at:%Y-%m-%d %H:%M} UTC: danlu login --new-password 'LINK'")


def _ago(moment: object) -> str:
    from datetime import datetime

    from danlu.cli.output import age

    return f"{age(moment)} ago" if isinstance(moment, datetime) else "never"
