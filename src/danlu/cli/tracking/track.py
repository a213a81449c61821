"""`danlu track`: imported and exported runs."""

from __future__ import annotations

from pathlib import Path

import typer

from danlu.cli import CONTEXT
from danlu.cli.terminal import echo
from danlu.cli.tracking.importing import add_to

app = typer.Typer(name="track", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)


@app.callback()
def _track() -> None:
    """Import runs from other trackers, and export them to TensorBoard."""


@app.command("export-tensorboard", context_settings=CONTEXT)
def export_tensorboard(
    job: str = typer.Argument(..., metavar="JOB", help="Id of a job; its runs are exported."),
    folder: Path = typer.Argument(..., help="Folder for the event files, a folder per run."),
) -> None:
    """Write the metrics of a job's runs as TensorBoard event files.

    \b
    Examples:
      danlu track export-tensorboard train-090819797506808029 events
    """
    from danlu import track

    echo(f"{track.export_tensorboard(job, folder)} runs in {folder}")


add_to(app)
