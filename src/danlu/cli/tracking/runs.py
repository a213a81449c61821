"""`danlu runs ls|show|compare|export|mv|rm|restore`"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_err, echo_json, one_line, paint, say_more

if TYPE_CHECKING:
    from danlu.client.tracking.runs import Run
    from danlu.wire.runs import MetricOut, RunOut, RunSummary

app = typer.Typer(name="runs", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
RunName = Annotated[str, typer.Argument(metavar="RUN", help="Run id, or name (the newest run of that name).")]
RunNames = Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids or names.")]
_SPARK_POINTS = 200
_SPARK_WIDTH = 24
_MOST_METRICS = 4
_MOST_HPARAMS = 4


@app.callback()
def _runs() -> None:
    """List, search, compare and export runs.

    Runs are created by `danlu.track` in a script, or by metrics pushed to a job.
    """


@app.command(context_settings=CONTEXT)
def ls(
    filter_: Optional[str] = typer.Argument(None, metavar="[FILTER]", help="Only runs that match."),
    folder: Optional[str] = typer.Option(None, "--folder", "-f", help="Only runs in this folder and below it."),
    job: Optional[str] = typer.Option(None, help="Only runs of this job: its id, or its name (the newest)."),
    deleted: bool = typer.Option(False, "--deleted", help="Deleted runs."),
    sort: Optional[str] = typer.Option(None, "--sort", "-s", metavar="KEY", help="TYPE/NAME, hparams.NAME, ..."),
    limit: int = typer.Option(50, "--limit", "-n", min=1, help="Maximum number."),
    as_json: AsJson = False,
) -> None:
    """List runs, newest first.

    --sort KEY is a metric (val/acc), hparams.NAME, summary.NAME, name, state, folder, owner, step, created, started or
    ended; the smallest comes first, with -KEY the largest. Hyperparameters that differ are columns.

    FILTER compares metrics.TYPE.NAME (the last value; also min(...) and max(...)), hparams.NAME, summary.NAME,
    name, state, folder, owner, job, label, step, created, started and ended, with = != < <= > >= ~ (contains)
    and in (...), joined by and, or, not and parentheses.

    \b
    Examples:
      danlu runs ls
      danlu runs ls "metrics.val.acc > 0.9 and hparams.lr < 0.01"
      danlu runs ls "state = died or label in (baseline, 'second try')" -f vision
      danlu runs ls --sort -val/acc -n 5
      danlu runs ls --json | jq -r '.[].id'
    """
    from danlu.client import Client

    with Client() as client:
        of_job = None if job is None else client.jobs.get(job).id
        rows = list(client.runs.list(filter_, folder=folder, job=of_job, deleted=deleted, sort=sort, limit=limit + 1))
    shown = rows[:limit]
    echo_json(shown) if as_json else echo_block(rows_text(shown, sort or ""))
    if sort is None:
        say_more(len(rows), limit)
    elif len(rows) > limit:
        echo_err(f"danlu: only the first {limit} in this order are shown; -n {limit * 10} shows more")


@app.command(context_settings=CONTEXT)
def show(
    run: RunName,
    environment: bool = typer.Option(False, "--environment", "-e", help="Packages, git state and diff, machine."),
    as_json: AsJson = False,
) -> None:
    """Show a run: metrics with sparklines, hyperparameters, git commit; its environment with -e.

    \b
    Examples:
      danlu runs show mnist
      danlu runs show mnist --environment
      danlu runs show mnist -e --json | jq -r .diff | git apply
      danlu runs show run-abcdefghijklmnopqrstuvwxyz --json | jq .hparams
    """
    from danlu.cli.tracking.environment import environment_text
    from danlu.client import Client

    with Client() as client:
        found = client.runs.get(run)
        if environment:
            captured = found.environment()
            echo_json(captured) if as_json else echo_block(environment_text(found.details, captured))
        elif as_json:
            echo_json(_with_all_metrics(found))
        else:
            echo_block(run_text(found, found.series()))


@app.command(context_settings=CONTEXT)
def compare(
    runs: RunNames,
    metric: list[str] = typer.Option([], "--metric", "-m", metavar="TYPE/NAME", help="Only these; repeatable."),
    all_: bool = typer.Option(False, "--all", "-a", help="Include equal hyperparameters."),
    as_json: AsJson = False,
) -> None:
    """Compare runs: differing hyperparameters and environment (git, packages), and metrics with sparklines.

    \b
    Examples:
      danlu runs compare baseline wider
      danlu runs compare baseline wider deeper -m val/acc -m val/loss
    """
    from danlu.cli.tracking.compare import as_data, as_text, names_of
    from danlu.cli.tracking.environment import differences, differences_text
    from danlu.client import Client

    if len(runs) < 2:
        raise typer.BadParameter("expected at least two runs")
    with Client() as client:
        each = [client.runs.get(run) for run in runs]
        found = [_with_all_metrics(run) for run in each]
        wanted = metric or list(dict.fromkeys(f"{one.type}/{one.name}" for run in found for one in run.metrics))
        lines = [line for run in each for line in run.all_points(wanted, _SPARK_POINTS)]
        captured = [run.environment() for run in each]
    if as_json:
        echo_json({**as_data(found, wanted, lines), "environment": differences(captured)})
        return
    shown = as_text(found, wanted, lines, with_same=all_)
    echo_block("\n\n".join(part for part in (shown, differences_text(names_of(found), captured)) if part))


@app.command(context_settings=CONTEXT)
def export(
    run: RunName,
    to: Path = typer.Argument(..., metavar="FILE", help="Parquet if it ends in .parquet, else CSV."),
) -> None:
    """Export all points of a run to a file, in logged order.

    \b
    Examples:
      danlu runs export mnist mnist.csv
      danlu runs export mnist mnist.parquet
    """
    from danlu.client import Client

    with Client() as client:
        echo(str(client.runs.get(run).export(to)))


@app.command(context_settings=CONTEXT)
def mv(
    run: RunName,
    folder: str = typer.Argument(..., help="Target folder, created if needed; / is the top."),
    name: Optional[str] = typer.Option(None, help="Also rename it."),
) -> None:
    """Move a run to another folder.

    \b
    Examples:
      danlu runs mv mnist vision/old
      danlu runs mv mnist / --name mnist-2025
    """
    from danlu.client import Client

    with Client() as client:
        moved = client.runs.get(run).change(folder=folder, name=name)
        echo(f"{moved.id}  {moved.details.folder or '/'}  {moved.name}")


@app.command(context_settings=CONTEXT)
def rm(
    runs: RunNames,
    purge: bool = typer.Option(False, "--purge", help="Delete permanently from the trash."),
) -> None:
    """Move runs to the trash; restore them with `danlu runs restore`.

    \b
    Examples:
      danlu runs rm mnist
      danlu runs rm --purge run-abcdefghijklmnopqrstuvwxyz
    """
    from danlu.client import Client

    with Client() as client:
        for run in runs:
            found = client.runs.get(run)
            found.delete(purge=purge)
            echo(f"{found.id}  {'deleted' if purge else 'in the trash'}")


@app.command(context_settings=CONTEXT)
def restore(runs: RunNames) -> None:
    """Restore runs from the trash, by id.

    \b
    Examples:
      danlu runs ls --deleted
      danlu runs restore run-abcdefghijklmnopqrstuvwxyz
    """
    from danlu.client import Client

    with Client() as client:
        for run in runs:
            back = client.runs.get(run).restore()
            echo(f"{back.id}  {back.details.folder or '/'}")


def _with_all_metrics(run: Run) -> RunOut:
    """What is known of a run, with every metric: the server's answer about a run names the first 50."""
    metrics = [one for one in run.series() if one.type != "system"]
    return run.details.model_copy(update={"metrics": metrics})


def rows_text(rows: Sequence[RunSummary], sort: str = "") -> str:
    """The list as a table. Hyperparameters that differ and the most common metrics are columns, and what it is sorted
    by."""
    from danlu.cli.output import age, lasted, table

    if not rows:
        return "no runs"
    hparams = [{f"hparams.{key}": _text(value) for key, value in _flat(row.hparams).items()} for row in rows]
    named = sort.lstrip("-").replace("metrics.", "", 1)
    wanted = named.replace(".", "/", 1) if sort.lstrip("-").startswith("metrics.") else named
    names = _first([wanted] if "/" in wanted else [], _common_metrics(rows), most=_MOST_METRICS)
    varied = _first([named] if named.startswith("hparams.") else [], _varied(hparams), most=_MOST_HPARAMS)
    header = ["ID", "NAME", "STATE", "FOLDER", "STEP", *(name[len("hparams.") :] for name in varied), *names]
    lines = []
    for row, chosen in zip(rows, hparams):
        values = {f"{one.type}/{one.name}": last_text(one) for one in row.metrics}
        step = "-" if row.step is None else str(row.step)
        if row.progress is not None:
            step += f" ({row.progress:.0%})"
        shown = [*(chosen.get(name, "-") for name in varied), *(values.get(name, "-") for name in names)]
        head = [row.id, row.name, state_text(row), row.folder or "/", step]
        lines.append([*head, *shown, age(row.created_at), lasted(row.started_at, row.ended_at)])
    return table([*header, "AGE", "RAN"], lines)


def run_text(run: Run, series: Sequence[MetricOut]) -> str:
    from danlu.cli.output import age, bold, facts, lasted, table
    from danlu.cli.sparkline import sparkline
    from danlu.cli.tracking.environment import git_text, python_text

    details = run.details
    lines = {
        f"{line.type}/{line.name}": line
        for line in (run.all_points([f"{one.type}/{one.name}" for one in series], _SPARK_POINTS) if series else [])
    }
    rows = [
        (
            f"  {one.type}/{one.name}",
            last_text(one),
            number(one.low),
            number(one.high),
            str(one.num_points),
            sparkline(lines[f"{one.type}/{one.name}"].value, _SPARK_WIDTH) if f"{one.type}/{one.name}" in lines else "",
        )
        for one in series
    ]
    values = {
        "state": f"{state_text(details)} {details.reason}".strip(),
        "folder": details.folder or "/",
        "owner": f"{details.owner} in {details.project}",
        "job": f"{details.job} attempt {details.attempt}" if details.job else "",
        "labels": ", ".join(details.labels),
        "about": details.description,
        "created": f"{details.created_at:%Y-%m-%d %H:%M:%S} UTC ({age(details.created_at)} ago)",
        "ran": lasted(details.started_at, details.ended_at),
        "progress": f"{details.progress:.1%}, step {details.step} of {details.total_steps}" if details.progress else "",
        "branches": _branches(details),
        "command": _text(details.environment.get("command")),
        "host": _text(details.environment.get("host")),
        "git": git_text(details.environment.get("git")),
        "python": python_text(details.environment),
        "trash": "restore it with danlu runs restore" if details.deleted_at else "",
    }
    parts = [facts(f"{details.id}  {details.name}", values)]
    for title, nested in (("hparams", details.hparams), ("summary", details.summary)):
        if nested:
            shown = [one_line(f"  {key} = {_text(value)}") for key, value in _flat(nested).items()]
            parts.append("\n".join([bold(title), *shown]))
    if rows:
        parts.append(table(("  METRIC", "LAST", "MIN", "MAX", "POINTS", "TREND"), rows))
    return "\n\n".join(parts)


def state_text(run: RunSummary) -> str:

    colours = {"running": 36, "finished": 32, "failed": 31, "stopped": 35, "died": 31}
    return paint(str(run.state), colours.get(str(run.state), 37))


def last_text(one: MetricOut) -> str:
    return one.odd or number(one.last)


def number(value: Optional[float]) -> str:
    return "-" if value is None else f"{value:.6g}"


def _varied(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Hyperparameters that are not the same in all runs that have them, or that only some have; as they come."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if len({row.get(name) for row in rows}) > 1]


def _first(wanted: list[str], others: list[str], *, most: int) -> list[str]:
    return list(dict.fromkeys([*wanted, *others]))[:most]


def _common_metrics(rows: Sequence[RunSummary]) -> list[str]:
    counts: dict[str, int] = {}
    for row in rows:
        for one in row.metrics:
            key = f"{one.type}/{one.name}"
            counts[key] = counts.get(key, 0) + 1
    return sorted(counts, key=lambda key: (-counts[key], key))[:_MOST_METRICS]


def _branches(run: RunOut) -> str:
    if len(run.branches) < 2:
        return ""
    return ", ".join(f"{one.branch} from step {one.from_step}" for one in run.branches if one.from_step is not None)


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    from danlu.spec.runs import flatten

    return flatten(values)


def _text(value: object) -> str:
    if value is None:
        return ""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
