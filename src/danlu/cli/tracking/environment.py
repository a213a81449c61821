"""What was captured of a run's surroundings, for `danlu runs show` and `danlu runs compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from danlu.cli.output import bold, facts, table
from danlu.cli.terminal import one_line
from danlu.spec.runs import flatten
from danlu.wire.runs import EnvironmentOut, RunOut

_OWN = ("pid", "pid_started", "pid_space", "boot_id")
"""What differs between any two processes."""


def git_text(git: object) -> str:
    """Commit, branch, and whether files differed from it."""
    if not isinstance(git, dict) or not git.get("commit"):
        return ""
    changed = ", with changes" if git.get("is_dirty") else ""
    return f"{str(git['commit'])[:12]} on {git.get('branch') or '?'}{changed} {git.get('remote') or ''}".strip()


def python_text(environment: Mapping[str, Any]) -> str:
    packages = environment.get("num_packages")
    more = f", {packages} packages" if packages else ""
    return f"{environment['python']}{more}" if environment.get("python") else ""


def environment_text(run: RunOut, captured: EnvironmentOut) -> str:
    """All of it: machine, git, packages, diff."""
    values = {key: _text(value) for key, value in flatten(captured.environment).items()}
    parts = [facts(f"{run.id}  {run.name}", values)]
    if captured.git:
        shown = [one_line(f"  {key} = {_text(value)}") for key, value in captured.git.items()]
        parts.append("\n".join([bold("git"), *shown]))
    if captured.packages:
        shown = [one_line(f"  {name}=={version}") for name, version in captured.packages.items()]
        parts.append("\n".join([bold("packages"), *shown]))
    if captured.diff:
        cut = ["  ... cut here"] if captured.git.get("is_diff_cut") else []
        parts.append("\n".join([bold("diff"), *map(one_line, captured.diff.splitlines()), *cut]))
    return "\n\n".join(parts)


def differences(captured: Sequence[EnvironmentOut]) -> dict[str, list[str]]:
    """What of the environments is not the same -> its value in each of them."""
    found = [_flat(one) for one in captured]
    keys = sorted({key for one in found for key in one})
    rows = {key: [one.get(key, "-") for one in found] for key in keys}
    return {key: values for key, values in rows.items() if len(set(values)) > 1}


def differences_text(names: Sequence[str], captured: Sequence[EnvironmentOut]) -> str:
    rows = [[f"  {key}", *values] for key, values in differences(captured).items()]
    return table(["  ENVIRONMENT", *names], rows) if rows else ""


def _flat(one: EnvironmentOut) -> dict[str, str]:
    values = {key: _text(value) for key, value in one.environment.items() if key not in _OWN}
    values.update({f"git.{key}": _text(value) for key, value in one.git.items()})
    values.update({f"packages.{name}": version for name, version in one.packages.items()})
    if one.diff:
        values["git.diff"] = f"{len(one.diff.splitlines())} lines"
    return values


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
