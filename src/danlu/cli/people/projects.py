"""`danlu projects ls|show|new|rename|describe|archive|unarchive|rm|add|remove`; invitations have a file of their own"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.people import invitations
from danlu.cli.terminal import echo, echo_block, echo_json

if TYPE_CHECKING:
    from danlu.wire.projects import ProjectOut

app = typer.Typer(name="projects", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
Project = Annotated[str, typer.Argument(metavar="PROJECT", help="A project's name.")]


@app.callback()
def _projects() -> None:
    """Manage projects, members and buckets.

    An owner manages the project, a member submits jobs and writes files, a viewer reads.
    """


@app.command(context_settings=CONTEXT)
def ls(as_json: AsJson = False) -> None:
    """List your projects; all of them for admins.

    \b
    Examples:
      danlu projects ls
    """
    from danlu.cli.output import table
    from danlu.client import Client

    with Client() as client:
        found = list(client.projects.list())
    if as_json:
        echo_json(found)
        return
    rows = [
        (one.name, str(one.role or "-"), "archived" if one.is_archived else "active", _brief(one.description))
        for one in found
    ]
    echo_block(table(("NAME", "YOU", "STATE", "DESCRIPTION"), rows))


@app.command(context_settings=CONTEXT)
def show(project: Project, as_json: AsJson = False) -> None:
    """Show a project: members, buckets, jobs.

    \b
    Examples:
      danlu projects show vision
    """
    from danlu.client import Client

    with Client() as client:
        _print(client.projects.get(project), as_json)


@app.command(context_settings=CONTEXT)
def new(
    project: Project,
    description: str = typer.Option("", help="What it is for."),
    owner: Optional[str] = typer.Option(None, help="Owner of the project; default: you."),
    bucket: Optional[str] = typer.Option(None, help="Also create this bucket for its files."),
    as_json: AsJson = False,
) -> None:
    """Create a project; for admins.

    \b
    Examples:
      danlu projects new vision --owner ada --bucket vision-data --description 'Pictures and what is in them'
    """
    from danlu.client import Client

    with Client() as client:
        made = client.projects.make(project, description=description, owner=owner)
        if bucket is not None:
            client.store.make_bucket(bucket, project=project)
            made = client.projects.get(project)
    _print(made, as_json)


@app.command(context_settings=CONTEXT)
def rename(
    project: Project, name: str = typer.Argument(..., help="What it is called from now on."), as_json: AsJson = False
) -> None:
    """Give a project another name; jobs, buckets and members stay.

    \b
    Examples:
      danlu projects rename vision pictures
    """
    from danlu.client import Client

    with Client() as client:
        _print(client.projects.rename(project, name), as_json)


@app.command(context_settings=CONTEXT)
def describe(
    project: Project, description: str = typer.Argument(..., help="What it is for."), as_json: AsJson = False
) -> None:
    """Say what a project is for.

    \b
    Examples:
      danlu projects describe vision 'Pictures and what is in them'
    """
    from danlu.client import Client

    with Client() as client:
        _print(client.projects.describe(project, description), as_json)


@app.command(context_settings=CONTEXT)
def archive(project: Project, as_json: AsJson = False) -> None:
    """Make a project read-only until it is unarchived.

    \b
    Examples:
      danlu projects archive vision
    """
    from danlu.client import Client

    with Client() as client:
        _print(client.projects.archive(project), as_json)


@app.command(context_settings=CONTEXT)
def unarchive(project: Project, as_json: AsJson = False) -> None:
    """Bring an archived project back.

    \b
    Examples:
      danlu projects unarchive vision
    """
    from danlu.client import Client

    with Client() as client:
        _print(client.projects.unarchive(project), as_json)


@app.command(context_settings=CONTEXT)
def rm(project: Project) -> None:
    """Delete a project without jobs and buckets; otherwise list what is in it.

    \b
    Examples:
      danlu projects rm vision
    """
    from danlu.client import Client

    with Client() as client:
        client.projects.delete(project)
    echo(f"deleted {project}")


@app.command(context_settings=CONTEXT)
def add(
    project: Project,
    users: list[str] = typer.Argument(..., metavar="NAME...", help="Names of users."),
    role: str = typer.Option("member", help="owner, member or viewer."),
) -> None:
    """Change the role of members. Admins can add any user; owners invite: danlu projects invite.

    \b
    Examples:
      danlu projects add vision ada --role owner
    """
    from danlu.client import Client

    with Client() as client:
        for user in users:
            client.projects.set_member(project, user, role)
            echo(f"{user} is {role} of {project}")


@app.command(context_settings=CONTEXT)
def remove(project: Project, users: list[str] = typer.Argument(..., metavar="NAME...", help="Names of users.")) -> None:
    """Remove people from a project, or leave it yourself. The last owner cannot.

    \b
    Examples:
      danlu projects remove vision grace
    """
    from danlu.client import Client

    with Client() as client:
        for user in users:
            client.projects.remove_member(project, user)
            echo(f"{user} is no longer a member of {project}")


app.command(context_settings=CONTEXT)(invitations.invite)
app.command(context_settings=CONTEXT)(invitations.invitations)
app.command(context_settings=CONTEXT)(invitations.withdraw)
app.command(context_settings=CONTEXT)(invitations.accept)
app.command(context_settings=CONTEXT)(invitations.decline)
app.command(context_settings=CONTEXT)(invitations.default)


def _print(project: ProjectOut, as_json: bool) -> None:

    if as_json:
        echo_json(project)
        return
    echo(f"{project.name}{' (archived)' if project.is_archived else ''}")
    if project.description:
        echo(f"  {_brief(project.description)}")
    for member in project.members:
        echo(f"  {member.role!s:8} {member.name}{'' if member.is_active else ' (disabled)'}")
    echo(f"  buckets  {', '.join(project.buckets) or '-'}")
    echo(f"  jobs     {project.num_jobs}, of them {project.num_open_jobs} wait or run")


def _brief(text: str) -> str:
    return " ".join(text.split()) or "-"
