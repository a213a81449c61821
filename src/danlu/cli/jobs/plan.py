"""`danlu plan`"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.jobs.notes import that_matter
from danlu.cli.jobs.plan_explained import explained_text
from danlu.cli.language import in_words, sentence
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo_block, echo_json, one_line
from danlu.spec.messages.command_texts import PLAN

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
        parts.append("\n".join([in_words(PLAN, "notes"), *(f"  {sentence(text)}" for text in plan.notes)]))
    return "\n\n".join(parts)


def price_text(plan: PlanOut) -> str:
    from danlu.spec.money import show_price

    assert plan.price_per_hour is not None
    return in_words(PLAN, "price", price=show_price(plan.price_per_hour, plan.currency or ""))


def _task_text(task: TaskPlanOut) -> str:
    from danlu.cli.output import bold

    lines = [f"{bold(in_words(PLAN, 'rank', rank=task.rank, role=task.role))}  {_place(task)}"]
    lines += [
        f"  {in_words(PLAN, 'command')}",
        f"    cd {shlex.quote(task.workdir)}",
        *_indent(shlex.join(task.command)),
    ]
    lines.append(f"  {in_words(PLAN, 'environment')}")
    lines += [one_line(f"    {name}={value}") for name, value in sorted(task.env.items())]
    if task.image is not None:
        lines.append(f"  {in_words(PLAN, 'image', name=task.image.name)}")
    if task.environment is not None:
        lines.append(one_line(f"  {_packages(task.environment)}"))
    lines += [f"  {in_words(PLAN, f'mount_{mount.kind}', path=mount.to, name=mount.name)}" for mount in task.mounts]
    for path, text in sorted(task.files.items()):
        lines += [f"  {in_words(PLAN, 'file', path=path)}", *_indent(_beginning(text.rstrip("\n")))]
    if task.inputs:
        lines.append(f"  {in_words(PLAN, 'inputs')}")
        lines += [f"    {fetch.source} -> {fetch.to}" for fetch in task.inputs]
    if task.outputs:
        lines.append(f"  {in_words(PLAN, 'outputs')}")
        lines += [f"    {in_words(PLAN, _when(out.while_running), path=out.path, to=out.to)}" for out in task.outputs]
    return "\n".join(lines)


def _place(task: TaskPlanOut) -> str:
    devices = f"{task.device_type}:{','.join(map(str, task.device_ids))}" if task.device_ids else task.device_type
    known = {"node": task.node, "host": task.host, "address": task.address, "device": devices}
    return in_words(PLAN, "between").join(in_words(PLAN, code, name=value) for code, value in known.items() if value)


def _packages(wanted: EnvironmentPlanOut) -> str:
    names = wanted.file or ", ".join(wanted.packages) or in_words(PLAN, "packages_of_server")
    if wanted.python:
        return in_words(PLAN, "packages_for", names=names, version=wanted.python)
    return in_words(PLAN, "packages", names=names)


def _beginning(text: str) -> str:
    """A short file as a whole; of a long one the first lines."""
    lines = text.split("\n")
    if len(lines) <= LONGEST_FILE_LINES:
        return text
    left = len(lines) - FIRST_LINES
    return "\n".join([*lines[:FIRST_LINES], in_words(PLAN, "more_lines", count=left)])


def _indent(text: str) -> list[str]:
    return [f"    {line}" for line in text.split("\n")]


def _when(while_running: bool) -> str:
    return "while_running" if while_running else "at_end"
