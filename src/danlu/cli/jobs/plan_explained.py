"""A plan with explanations."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from danlu.cli.language import sentence

if TYPE_CHECKING:
    from danlu.wire.jobs import PlanOut, TaskExplanationOut, TaskPlanOut, VariableOut

WIDTH = 110


def explained_text(plan: PlanOut) -> str:
    """The first rank in full, and differences of the others."""
    from danlu.cli.output import bold

    told = plan.explanation
    if told is None:  # an older server
        return "this server does not explain plans"
    by_rank = {task.rank: task for task in told.tasks}
    first, *others = plan.tasks
    notes = map(sentence, (*told.notes, *plan.notes))
    parts = [
        "\n".join([bold("How it is started"), *(line for text in told.starts for line in _wrapped(text))]),
        "\n".join([bold("When it has succeeded"), *_wrapped(sentence(told.succeeds))]),
        _task_text(first, by_rank[first.rank]),
        *(_difference(first, task) for task in others),
        "\n".join([bold("Good to know"), *(line for text in notes for line in _wrapped(text))]),
    ]
    return "\n\n".join(parts)


def _task_text(task: TaskPlanOut, told: TaskExplanationOut) -> str:
    from danlu.cli.output import bold

    lines = [bold(f"Rank {task.rank}"), f"  {_place(task)}"]
    lines += ["", f"  runs in {task.workdir}", *_command(task.command)]
    for source in sorted({variable.set_by for variable in told.variables.values()}, key=_order):
        lines += ["", f"  variables from {source}", *_variables(task.env, told.variables, source)]
    lines += ["", "  files", *_pairs(told.files)]
    lines += ["", "  folders", *_pairs(told.folders)]
    if task.inputs:
        lines += ["", "  fetched before it starts", *(f"    {fetch.source} -> {fetch.to}" for fetch in task.inputs)]
    return "\n".join(lines)


def _order(source: str) -> tuple[bool, bool, str]:
    """Variables of the launch mode first, then common ones, then the job's own."""
    return source.startswith("env "), source.startswith("every "), source


def _difference(first: TaskPlanOut, task: TaskPlanOut) -> str:
    """Differences from the first rank."""
    from danlu.cli.output import bold

    lines = [bold(f"Rank {task.rank}"), f"  {_place(task)}"]
    changed = {name: value for name, value in sorted(task.env.items()) if first.env.get(name) != value}
    if task.command != first.command:
        lines += ["  runs", *_command(task.command)]
    if changed:
        lines += [f"  as rank {first.rank}, but", *(f"    {name}={value}" for name, value in changed.items())]
    return "\n".join(lines)


def _place(task: TaskPlanOut) -> str:
    devices = f"{task.device_type} {','.join(map(str, task.device_ids))}" if task.device_ids else ""
    place = f"a {task.role} on {task.node}, known to the others as {task.host} ({task.address})"
    return f"{place}, with {devices}" if devices else place


def _variables(env: Mapping[str, str], told: Mapping[str, VariableOut], source: str) -> Iterable[str]:
    for name, variable in told.items():
        if variable.set_by == source:
            yield f"    {name}={_short(env[name])}"
            yield from _wrapped(f"{variable.what}; for {variable.read_by}", indent=10)


def _pairs(told: Mapping[str, str]) -> Iterable[str]:
    for path, what in told.items():
        yield f"    {path}"
        yield from _wrapped(what, indent=10)


def _short(value: str) -> str:
    line = value.replace("\n", "\\n")
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..."


def _command(words: list[str]) -> list[str]:
    """A script unchanged, words quoted for a shell."""
    if len(words) > 2 and words[1] == "-c":
        return [f"    {words[0]}, which reads", *(f"      {line}" for line in words[2].split("\n"))]
    return [f"    {line}" for line in shlex.join(words).split("\n")]


def _wrapped(text: str, *, indent: int = 2) -> list[str]:
    margin = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=margin, subsequent_indent=margin, break_long_words=False)
