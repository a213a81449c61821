"""`danlu plan`"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.jobs.notes import that_matter
from danlu.cli.jobs.plan_explained import explained_text
from danlu.cli.language import sentence
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo_block, echo_json, one_line

if TYPE_CHECKING:
    from danlu.wire.jobs import EnvironmentPlanOut, PlanOut, TaskPlanOut

LONGEST_FILE_LINES, FIRST_LINES = 80, 8


def plan(
    file: Path = typer.Argument(..., metavar="FILE", help="The job file (YAML)."),
    rank: Optional[int] = typer.Option(None, "--rank", "-r", min=0, help="Only this rank."),
    explain: bool = typer.Option(False, "--explain", "-x", help="Explain every part."),
    set_: list[str] = typer.Option([], "--set", metavar="FIELD=VALUE", help="Change a field of the file; repeatable."),
    as_json: AsJson = False,
) -> None:
    """Show the plan of a job: what each rank gets.

    Environment, files, inputs, outputs and command, exactly as they would be. Nothing is uploaded,
    stored or started. Values of secrets are not shown. With --explain: how the tasks are started, what
    each variable is for, and when the job succeeds.

    \b
    Examples:
      danlu plan job.yml
      danlu plan job.yml --rank 1
      danlu plan job.yml --explain | less
      danlu plan job.yml --set nodes=8 --json
    """
    from danlu.client import Client
    from danlu.client.jobs.jobfile import read_job_file
    from danlu.errors import InvalidInput

    job_file = read_job_file(file, set_)
    with Client() as client, job_file.explained():
        found = client.jobs.plan(job_file.values, folder=job_file.folder, explain=explain)
    if not explain and not as_json:
        found = found.model_copy(update={"notes": that_matter(found.notes, job_file.values)})
    if rank is not None:
        tasks = [task for task in found.tasks if task.rank == rank]
        if not tasks:
            raise InvalidInput(f"expected a rank from 0 to {len(found.tasks) - 1}")
        told = found.explanation
        if told is not None:
            told = told.model_copy(update={"tasks": [task for task in told.tasks if task.rank == rank]})
        found = found.model_copy(update={"tasks": tasks, "explanation": told})
    if as_json:
        echo_json(found)
    elif explain:
        price = f"\n\n{price_text(found)}" if found.price_per_hour is not None else ""
        echo_block(f"{explained_text(found)}{price}")
    else:
        echo_block(plan_text(found))


def plan_text(plan: PlanOut) -> str:
    """The plan as text."""
    parts = [_task_text(task) for task in plan.tasks]
    parts += [price_text(plan)] if plan.price_per_hour is not None else []
    if plan.notes:
        parts.append("\n".join(["notes", *(f"  {sentence(text)}" for text in plan.notes)]))
    return "\n\n".join(parts)


def price_text(plan: PlanOut) -> str:
    from danlu.spec.money import show_price

    assert plan.price_per_hour is not None
    return f"price  {show_price(plan.price_per_hour, plan.currency or '')} for all nodes"


def _task_text(task: TaskPlanOut) -> str:
    from danlu.cli.output import bold

    devices = f"{task.device_type}:{','.join(map(str, task.device_ids))}" if task.device_ids else task.device_type
    place = [f"node {task.node}", f"host {task.host}", f"address {task.address}", f"device {devices}"]
    lines = [bold(f"rank {task.rank} ({task.role})") + "  " + ", ".join(part for part in place if part.split()[1:])]
    lines += ["  command", f"    cd {shlex.quote(task.workdir)}", *_indent(shlex.join(task.command))]
    lines += ["  environment", *(one_line(f"    {name}={value}") for name, value in sorted(task.env.items()))]
    if task.image is not None:
        lines.append(f"  image {task.image.name}")
    if task.environment is not None:
        lines.append(one_line(f"  packages {_packages(task.environment)}"))
    lines += [f"  folder {mount.to} ({mount.kind} of {mount.name}, outlives the job)" for mount in task.mounts]
    for path, text in sorted(task.files.items()):
        lines += [f"  file {path}", *_indent(_beginning(text.rstrip("\n")))]
    if task.inputs:
        lines += ["  inputs", *(f"    {fetch.source} -> {fetch.to}" for fetch in task.inputs)]
    if task.outputs:
        lines += ["  outputs", *(f"    {out.path} -> {out.to} ({_when(out.while_running)})" for out in task.outputs)]
    return "\n".join(lines)


def _packages(wanted: EnvironmentPlanOut) -> str:
    named = wanted.file or ", ".join(wanted.packages) or "of the server"
    return f"{named} (Python {wanted.python})" if wanted.python else named


def _beginning(text: str) -> str:
    """A short file as a whole; of a long one the first lines."""
    lines = text.split("\n")
    if len(lines) <= LONGEST_FILE_LINES:
        return text
    left = len(lines) - FIRST_LINES
    return "\n".join([*lines[:FIRST_LINES], f"... and {left} more lines; --json shows them"])


def _indent(text: str) -> list[str]:
    return [f"    {line}" for line in text.split("\n")]


def _when(while_running: bool) -> str:
    return "while it runs" if while_running else "at the end"
