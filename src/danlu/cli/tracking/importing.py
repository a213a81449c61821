"""`danlu track import-...`: runs of other trackers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_err, echo_json, one_line

if TYPE_CHECKING:
    from danlu.client.tracking.runs import Runs

PROJECT = typer.Option(None, help="Project for the runs; default: yours.")


def add_to(app: typer.Typer) -> None:
    """Give the commands to `danlu track`."""
    for name, command in (
        ("import-mlflow", import_mlflow),
        ("import-wandb", import_wandb),
        ("import-tensorboard", import_tensorboard),
        ("import-trackio", import_trackio),
        ("import-swanlab", import_swanlab),
    ):
        app.command(name, context_settings=CONTEXT)(command)


def import_tensorboard(
    path: Path = typer.Argument(..., help="An event file, or a folder with event files."),
    name: Optional[str] = typer.Option(None, help="Run name, or the first part of their names; default: the folder's."),
    project: Optional[str] = PROJECT,
    offline: bool = typer.Option(
        False, "--offline", help="Write the runs to .danlu/runs instead; `danlu sync` uploads them."
    ),
    as_json: AsJson = False,
) -> None:
    """Import TensorBoard event files as runs: scalars, texts, images, audio, histograms, PR curves, graphs and
    hyperparameters.

    Every folder with event files becomes a run; folders named train, validation or test belong to the one around
    them. May be repeated: runs that were imported before are passed over. What cannot be read is named, the others are
    imported all the same, and the exit code is 1 then.

    \b
    Examples:
      danlu track import-tensorboard runs/mnist
      danlu track import-tensorboard runs/mnist --offline
      danlu track import-tensorboard logs/events.out.tfevents.1700000000.host --name mnist
    """
    if not offline:
        _bring(lambda runs, told: runs.import_tensorboard(path, name=name, project=project, on_run=told), as_json)
        return
    from danlu import track

    found = track.import_tensorboard(path, name=name)
    for run in found.runs:
        echo(f"{run.id}  {run.name}  {run.path}")
    echo(
        f"{found.num_points} points, {found.num_media} media of {found.num_files} files; upload them with `danlu sync`"
    )


def import_mlflow(
    source: str = typer.Argument(
        ..., metavar="SOURCE", help="A folder mlruns, a SQLite file (mlflow.db), or the address of an MLflow server."
    ),
    experiment: Optional[str] = typer.Option(None, help="Only this experiment."),
    links: bool = typer.Option(
        False,
        "--links",
        help="Also import files outside of the folder that links or the database name. Only for folders you trust.",
    ),
    project: Optional[str] = PROJECT,
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
            follow_links=links,
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


def import_wandb(
    path: Path = typer.Argument(
        ..., help="A folder wandb, or one around it; a .wandb file; a CSV file that was exported; a folder of these."
    ),
    links: bool = typer.Option(
        False, "--links", help="Also bring what links in a run's files lead to. Only for folders that you wrote."
    ),
    project: Optional[str] = PROJECT,
    as_json: AsJson = False,
) -> None:
    """Import runs of Weights & Biases from offline folders, or from exported CSV files.

    History, config, summary, tags, notes, media, console output, system metrics, files and artifacts come along.
    Projects become folders. May be repeated: runs that were imported before are passed over. What cannot be read is
    named, the others are imported all the same, and the exit code is 1 then.

    \b
    Examples:
      danlu track import-wandb wandb
      danlu track import-wandb wandb/offline-run-20240501_120000-k3jd8s2a --project vision
      danlu track import-wandb history.csv
    """
    _bring(lambda runs, told: runs.import_wandb(path, follow_links=links, project=project, on_run=told), as_json)


def import_trackio(
    path: Path = typer.Argument(
        ..., help="A project's SQLite file, or the folder with them, such as ~/.cache/huggingface/trackio."
    ),
    project: Optional[str] = PROJECT,
    as_json: AsJson = False,
) -> None:
    """Import runs of trackio with metrics, config, media, alerts, system metrics and artifacts.

    Projects and groups become folders. May be repeated: runs that were imported before are passed over. What cannot be
    read is named, the others are imported all the same, and the exit code is 1 then.

    \b
    Examples:
      danlu track import-trackio ~/.cache/huggingface/trackio
      danlu track import-trackio ~/.cache/huggingface/trackio/mnist.db --project vision
    """
    _bring(lambda runs, told: runs.import_trackio(path, project=project, on_run=told), as_json)


def import_swanlab(
    path: Path = typer.Argument(..., help="A folder swanlog, a run's folder in it, or a run's .swanlab file."),
    project: Optional[str] = PROJECT,
    as_json: AsJson = False,
) -> None:
    """Import runs of SwanLab with metrics, config, media, console output and system metrics.

    Projects and groups become folders. May be repeated: runs that were imported before are passed over. What cannot be
    read is named, the others are imported all the same, and the exit code is 1 then.

    \b
    Examples:
      danlu track import-swanlab swanlog
      danlu track import-swanlab swanlog/run-20250605_163200-a1b2c3d4 --project vision
    """
    _bring(lambda runs, told: runs.import_swanlab(path, project=project, on_run=told), as_json)


def _bring(importing: Callable[[Runs, Callable[[Any], None]], Any], as_json: bool) -> None:
    """Carry out an import, tell of every run as it begins, and of what could not be brought."""
    from danlu.client import Client

    def told(run: Any) -> None:
        if not as_json:
            echo_err(one_line(f"{run.folder}: {run.name}" if run.folder else run.name))

    with Client() as client:
        found = importing(client.runs, told)
    if as_json:
        echo_json(found._asdict())
    else:
        for problem in found.problems:
            echo_err(one_line(problem))
        known = f", {found.num_known} were here already" if found.num_known else ""
        counted = f"{found.num_points} points, {found.num_media} media, {found.num_files} files"
        echo(f"{len(found.runs)} runs, {counted}{known}")
    if found.problems:
        raise typer.Exit(1)
