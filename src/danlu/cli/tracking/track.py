"""`danlu track`: imported and exported runs."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_err, echo_json, one_line

app = typer.Typer(name="track", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)


@app.callback()
def _track() -> None:
    """Import runs from other trackers, and export them to TensorBoard."""


@app.command("import-tensorboard", context_settings=CONTEXT)
def import_tensorboard(
    path: Path = typer.Argument(..., help="An event file, or a folder with event files."),
    name: Optional[str] = typer.Option(None, help="Run name, or the first part of their names; default: the folder's."),
) -> None:
    """Import TensorBoard event files as runs: scalars, texts, images, histograms and hyperparameters.

    Every folder with event files becomes a run; folders named train, validation or test belong to the one around
    them. The runs are written to .danlu/runs; upload it with `danlu sync`.

    \b
    Examples:
      danlu track import-tensorboard runs/mnist
      danlu track import-tensorboard logs/events.out.tfevents.1700000000.host --name mnist
    """
    from danlu import track

    found = track.import_tensorboard(path, name=name)
    for run in found.runs:
        echo(f"{run.id}  {run.name}  {run.path}")
    echo(
        f"{found.num_points} points, {found.num_media} media of {found.num_files} files; upload them with `danlu sync`"
    )


@app.command("import-mlflow", context_settings=CONTEXT)
def import_mlflow(
    source: str = typer.Argument(
        ..., metavar="SOURCE", help="A folder mlruns, a SQLite file (mlflow.db), or the address of an MLflow server."
    ),
    experiment: Optional[str] = typer.Option(None, help="Only this experiment."),
    project: Optional[str] = typer.Option(None, help="Project for the runs; default: yours."),
    as_json: AsJson = False,
) -> None:
    """Import runs of MLflow with metrics, parameters, tags, times, files and parents.

    Experiments become folders. May be repeated: runs that were imported before are passed over. What cannot be read is
    named, the others are imported all the same, and the exit code is 1 then.

    \b
    Examples:
      danlu track import-mlflow mlruns
      danlu track import-mlflow mlflow.db --experiment vision/base
      danlu track import-mlflow http://127.0.0.1:5000 --project vision
    """
    from danlu.client import Client

    with Client() as client:
        found = client.runs.import_mlflow(
            source,
            experiment=experiment,
            project=project,
            on_run=lambda run: None if as_json else echo_err(one_line(f"{run.experiment}: {run.name or run.id}")),
        )
    if as_json:
        echo_json(found._asdict())
    else:
        for problem in found.problems:
            echo_err(one_line(problem))
        known = f", {found.num_known} were here already" if found.num_known else ""
        echo(f"{len(found.runs)} runs, {found.num_points} points, {found.num_files} files{known}")
    if found.problems:
        raise typer.Exit(1)


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
