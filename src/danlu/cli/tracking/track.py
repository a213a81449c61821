"""`danlu track`: imported runs."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.terminal import echo

app = typer.Typer(name="track", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)


@app.callback()
def _track() -> None:
    """Import runs from other trackers."""


@app.command("import-tensorboard", context_settings=CONTEXT)
def import_tensorboard(
    path: Path = typer.Argument(..., help="An event file, or a folder with event files."),
    name: Optional[str] = typer.Option(None, help="Run name; default: the folder's name."),
) -> None:
    """Import TensorBoard event files as a run: scalars, texts, images and histograms.

    The run is written to .danlu/runs; upload it with `danlu sync`.

    \b
    Examples:
      danlu track import-tensorboard runs/mnist
      danlu track import-tensorboard logs/events.out.tfevents.1700000000.host --name mnist
    """
    from danlu import track

    called = name or path.resolve().name
    with track.start(called, hparams={}) as run:
        found = track.import_tensorboard(path, run)
    echo(f"{run.id}  {called}  {found.num_points} points, {found.num_media} media of {found.num_files} files")
    echo(f"in {run.path}; upload it with `danlu sync`")
