"""`danlu templates ls|show|save|rm`"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo_block, echo_err, echo_file, echo_json

app = typer.Typer(name="templates", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
_Template = typer.Argument(..., metavar="TEMPLATE", help="Name or id.")


@app.callback()
def _templates() -> None:
    """Save and reuse job templates."""


@app.command(context_settings=CONTEXT)
def ls(as_json: AsJson = False) -> None:
    """List your templates and those shared in your projects.

    \b
    Examples:
      danlu templates ls
      danlu templates ls --json | jq -r '.[].name'
    """
    from danlu.cli.output import age, table
    from danlu.client import Client

    with Client() as client:
        found = list(client.templates.list())
    if as_json:
        echo_json(found)
        return
    rows = [
        (one.id, one.name, one.project, one.owner, "yes" if one.is_shared else "no", f"{age(one.changed_at)} ago")
        for one in found
    ]
    echo_block(table(("ID", "NAME", "PROJECT", "OWNER", "SHARED", "CHANGED"), rows))


@app.command(context_settings=CONTEXT)
def show(template: str = _Template, as_json: AsJson = False) -> None:
    """Print a template as a job file.

    \b
    Examples:
      danlu templates show "8 NPUs" > job.yml
      danlu templates show 12 --json
    """
    import yaml

    from danlu.client import Client

    with Client() as client:
        found = client.templates.get(template)
    if as_json:
        echo_json(found)
    else:
        echo_file(yaml.safe_dump(found.spec, sort_keys=False, allow_unicode=True) if found.spec else "{}\n")


@app.command(context_settings=CONTEXT)
def save(
    name: str = typer.Argument(..., help="Name of the template."),
    file: Path = typer.Argument(..., metavar="FILE", help="A job file; name and command are optional."),
    set_: list[str] = typer.Option([], "--set", metavar="FIELD=VALUE", help="Change a field of the file; repeatable."),
    project: Optional[str] = typer.Option(None, "--project", "-p", help="Project of the template."),
    share: bool = typer.Option(False, "--share", help="Share it with the project."),
    as_json: AsJson = False,
) -> None:
    """Save a job file as a template; it replaces yours of that name.

    \b
    Examples:
      danlu templates save "8 NPUs" job.yml --share
      danlu templates save small job.yml --set resources.device=npu:1 --project vision
    """
    from danlu.client import Client
    from danlu.client.jobs.jobfile import read_job_file

    job_file = read_job_file(file, set_)
    with job_file.explained(), Client() as client:
        made = client.templates.save(name, job_file.values, project=project, is_shared=share)
    if as_json:
        echo_json(made)
    else:
        echo_err(f"template {made.name!r} is saved in project {made.project} as {made.id}")


@app.command(context_settings=CONTEXT)
def rm(templates: list[str] = typer.Argument(..., metavar="TEMPLATE...", help="Names or ids.")) -> None:
    """Delete templates.

    \b
    Examples:
      danlu templates rm small
    """
    from danlu.client import Client

    with Client() as client:
        for one in [client.templates.get(name) for name in templates]:
            client.templates.delete(one.id)
