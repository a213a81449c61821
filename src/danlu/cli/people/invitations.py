"""`danlu projects invite|invitations|withdraw|accept|decline|default`"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_json

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="A project's name.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of users.")]


def invite(
    project: Project,
    users: Names,
    role: str = typer.Option("member", help="owner, member or viewer."),
) -> None:
    """Ask people to become members of a project.

    They accept or decline within two weeks. The answer does not reveal whether the user exists.

    \b
    Examples:
      danlu projects invite vision grace bob
      danlu projects invite vision vic --role viewer
    """
    from danlu.client import Client

    with Client() as client:
        for user in users:
            made = client.projects.invite(project, user, role)
            echo(f"if there is a {made.user}, they are invited to {made.project} as {made.role!s}: they accept with")
            echo(f"  danlu projects accept {made.project}")


def invitations(
    project: Optional[str] = typer.Argument(None, metavar="[PROJECT]", help="One that you own."),
    as_json: AsJson = False,
) -> None:
    """List what you are invited to, or who is invited to a project of yours.

    \b
    Examples:
      danlu projects invitations
      danlu projects invitations vision
    """
    from danlu.cli.output import table
    from danlu.client import Client

    with Client() as client:
        found = list(client.projects.invitations(project))
    if as_json:
        echo_json(found)
        return
    rows = [
        (one.project, one.user, str(one.role), one.invited_by, f"{one.expires_at.astimezone():%Y-%m-%d}")
        for one in found
    ]
    echo_block(table(("PROJECT", "PERSON", "ROLE", "INVITED BY", "UNTIL"), rows))


def withdraw(project: Project, users: Names) -> None:
    """Take invitations back.

    \b
    Examples:
      danlu projects withdraw vision bob
    """
    from danlu.client import Client

    with Client() as client:
        for user in users:
            client.projects.withdraw(project, user)
            echo(f"{user} is no longer invited to {project}")


def accept(project: Project) -> None:
    """Become a member of a project that you are invited to.

    Its owners can enter the jobs that you run in it.

    \b
    Examples:
      danlu projects accept vision
    """
    from danlu.client import Client

    with Client() as client:
        joined = client.projects.accept(project)
    echo(f"you are {joined.role!s} of {joined.name}; jobs go there with --project {joined.name}")


def decline(project: Project) -> None:
    """Decline an invitation.

    \b
    Examples:
      danlu projects decline vision
    """
    from danlu.client import Client

    with Client() as client:
        client.projects.decline(project)
    echo(f"declined the invitation to {project}")


def default(
    project: Optional[str] = typer.Argument(None, metavar="[PROJECT]", help="Where your jobs shall go."),
) -> None:
    """Show or choose the project of your jobs that name none. Only you can change it.

    \b
    Examples:
      danlu projects default
      danlu projects default vision
    """
    from danlu.client import Client

    with Client() as client:
        if project is not None:
            client.projects.set_default(project)
        chosen = client.me().default_project
    echo(chosen or "no default project; choose one: danlu projects default NAME")
