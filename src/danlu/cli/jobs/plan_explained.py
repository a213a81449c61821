"""A plan with explanations."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from danlu.cli.language import in_words, sentence
from danlu.spec.messages.command_texts import PLAN

if TYPE_CHECKING:
    from danlu.wire.jobs import PlanOut, TaskExplanationOut, TaskPlanOut, VariableOut

WIDTH = 110


def explained_text(plan: PlanOut) -> str:
    """The first rank in full, and differences of the others."""
    told = plan.explanation
    if told is None:  # an older server
        return in_words(PLAN, "not_explained")
    by_rank = {task.rank: task for task in told.tasks}
    first, *others = plan.tasks
    parts = [
        _paragraphs("starts", told.starts),
        _paragraphs("succeeds", [told.succeeds]),
        _task_text(first, by_rank[first.rank]),
        *(_difference(first, task) for task in others),
        _paragraphs("good_to_know", [*told.notes, *plan.notes]),
    ]
    return "\n\n".join(parts)


def _paragraphs(heading: str, texts: Iterable[str]) -> str:
    from danlu.cli.output import bold

    return "\n".join([bold(in_words(PLAN, heading)), *(line for text in texts for line in _wrapped(sentence(text)))])


def _task_text(task: TaskPlanOut, told: TaskExplanationOut) -> str:
    from danlu.cli.output import bold

    lines = [bold(in_words(PLAN, "title", rank=task.rank)), f"  {_place(task)}"]
    lines += ["", f"  {in_words(PLAN, 'runs_in', path=task.workdir)}", *_command(task.command)]
    for source in sorted({variable.set_by for variable in told.variables.values()}, key=_order):
        heading = in_words(PLAN, "variables_from", source=sentence(source))
        lines += ["", f"  {heading}", *_variables(task.env, told.variables, source)]
    lines += ["", f"  {in_words(PLAN, 'files')}", *_pairs(told.files)]
    lines += ["", f"  {in_words(PLAN, 'folders')}", *_pairs(told.folders)]
    if task.inputs:
        lines += ["", f"  {in_words(PLAN, 'fetched')}", *(f"    {fetch.source} -> {fetch.to}" for fetch in task.inputs)]
    return "\n".join(lines)


def _order(source: str) -> tuple[bool, bool, str]:
    """Variables of the launch mode first, then common ones, then the job's own."""
    return source.startswith("env "), source.startswith("every "), source


def _difference(first: TaskPlanOut, task: TaskPlanOut) -> str:
    """Differences from the first rank."""
    from danlu.cli.output import bold

    lines = [bold(in_words(PLAN, "title", rank=task.rank)), f"  {_place(task)}"]
    changed = {name: value for name, value in sorted(task.env.items()) if first.env.get(name) != value}
    if task.command != first.command:
        lines += [f"  {in_words(PLAN, 'runs')}", *_command(task.command)]
    if changed:
        lines.append(f"  {in_words(PLAN, 'as_first', rank=first.rank)}")
        lines += [f"    {name}={value}" for name, value in changed.items()]
    return "\n".join(lines)


def _place(task: TaskPlanOut) -> str:
    devices = f"{task.device_type} {','.join(map(str, task.device_ids))}" if task.device_ids else ""
    place = {"role": task.role, "node": task.node, "host": task.host, "address": task.address}
    if devices:
        return in_words(PLAN, "place_with", devices=devices, **place)
    return in_words(PLAN, "place", **place)


def _variables(env: Mapping[str, str], told: Mapping[str, VariableOut], source: str) -> Iterable[str]:
    for name, variable in told.items():
        if variable.set_by == source:
            yield f"    {name}={_short(env[name])}"
            what, readers = sentence(variable.what), sentence(variable.read_by)
            yield from _wrapped(in_words(PLAN, "variable", what=what, readers=readers), indent=10)


def _pairs(told: Mapping[str, str]) -> Iterable[str]:
    for path, what in told.items():
        yield f"    {path}"
        yield from _wrapped(sentence(what), indent=10)


def _short(value: str) -> str:
    line = value.replace("\n", "\\n")
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..."


def _command(words: list[str]) -> list[str]:
    """A script unchanged, words quoted for a shell."""
    if len(words) > 2 and words[1] == "-c":
        return [
            f"    {in_words(PLAN, 'script', program=words[0])}",
            *(f"      {line}" for line in words[2].split("\n")),
        ]
    return [f"    {line}" for line in shlex.join(words).split("\n")]


def _wrapped(text: str, *, indent: int = 2) -> list[str]:
    from danlu.cli.output import wrapped

    margin = " " * indent
    return [f"{margin}{line}" for line in wrapped(text, WIDTH - indent)]
