"""`danlu data put`"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.terminal import echo_err, progress_bar

app = typer.Typer(name="data", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)


@app.callback()
def _data() -> None:
    """Bring files to /data, which a project's jobs share.

    Jobs with contract: apulis find it there.
    """


@app.command(context_settings=CONTEXT)
def put(
    source: Path = typer.Argument(..., metavar="FROM", help="Local file or folder."),
    target: str = typer.Argument(
        ..., metavar="TO", help="Path in /data; one that ends in / is a folder to put it into."
    ),
    project: Optional[str] = typer.Option(None, "--project", "-p", help="Whose /data; default: your first project."),
) -> None:
    """Copy a file or a folder to /data.

    A job of yours does it, through the project's bucket. Files of the same name are replaced.

    \b
    Examples:
      danlu data put Resnet50_HC /data/
      danlu data put cifar10/train.bin /data/cifar10/train.bin -p vision
    """
    from danlu.client import Client

    with Client() as client, progress_bar() as progress:
        job = client.shared.put(source, target, project=project, progress=progress)
    echo_err(f"{source} is in {target} ({job.id})")
