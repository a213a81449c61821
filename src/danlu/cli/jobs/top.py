"""`danlu top`"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.options import AsJson, JobName
from danlu.cli.terminal import clear_screen, echo, echo_block, echo_json

if TYPE_CHECKING:
    from danlu.wire.usage import TaskUsage, UsageOut

LOOK_SECONDS = 5.0
POINTS = 200


def top(
    job: JobName,
    attempt: Optional[int] = typer.Option(None, min=1, help="Attempt number; default: the newest."),
    once: bool = typer.Option(False, "--once", help="Print once, even if the job is running."),
    as_json: AsJson = False,
) -> None:
    """Show the resource usage of a job's tasks.

    Cores, memory, bytes read and written, device utilization. Updates while the job runs, on a terminal.
    For an ended job: means and peaks.

    \b
    Examples:
      danlu top mnist
      danlu top train-0741234 --attempt 1
      danlu top mnist --json | jq '.tasks[].lines.cpu.highest'
    """
    from danlu.client import Client

    with Client() as client:
        found = client.jobs.get(job)
        seen = found.usage(attempt=attempt, points=POINTS)
        if as_json:
            echo_json(seen)
            return
        echo_block(usage_text(seen))
        try:
            while seen.is_live and not once and sys.stdout.isatty():
                time.sleep(LOOK_SECONDS)
                seen = found.usage(attempt=seen.attempt, points=POINTS)
                clear_screen()
                echo_block(usage_text(seen))
        except KeyboardInterrupt:
            echo()


def usage_text(seen: UsageOut) -> str:
    from danlu.cli.output import bold, table

    if not any(task.lines for task in seen.tasks):
        return _why_nothing(seen)
    has_devices = any("device" in task.lines for task in seen.tasks)
    has_network = any("received" in task.lines for task in seen.tasks)
    columns = ["RANK", "NODE", "CPU", "MEMORY", "READ/S", "WRITTEN/S"]
    columns += ["IN/S", "OUT/S"] if has_network else []
    columns += ["DEVICES", "ON DEVICES"] if has_devices else []
    rows = [[cell for name, cell in _cells(task, is_live=seen.is_live) if name in columns] for task in seen.tasks]
    what = "now" if seen.is_live else "mean, and at most"
    head = bold(f"{seen.job} attempt {seen.attempt}: {what}")
    return (
        f"{head}\n{table([*columns, 'CPU OVER TIME'], [[*row, _course(task)] for row, task in zip(rows, seen.tasks)])}"
    )


def _why_nothing(seen: UsageOut) -> str:
    if seen.attempt == 0:
        return f"{seen.job} has not started; `danlu why {seen.job}` explains why"
    if seen.is_live:
        return f"no measurements yet of attempt {seen.attempt} of {seen.job}; try again in a few seconds"
    return f"no measurements of attempt {seen.attempt} of {seen.job}: it was too short, or its log was removed"


def _cells(task: TaskUsage, *, is_live: bool) -> list[tuple[str, str]]:
    return [
        ("RANK", str(task.rank)),
        ("NODE", task.node),
        ("CPU", _of(_shown(task, "cpu", is_live=is_live), f"{task.cpus:g}" if task.cpus else "")),
        ("MEMORY", _of(_shown(task, "memory", is_live=is_live), _size(task.memory_bytes) if task.memory_bytes else "")),
        ("READ/S", _shown(task, "read", is_live=is_live)),
        ("WRITTEN/S", _shown(task, "written", is_live=is_live)),
        ("IN/S", _shown(task, "received", is_live=is_live)),
        ("OUT/S", _shown(task, "sent", is_live=is_live)),
        ("DEVICES", _shown(task, "device", is_live=is_live)),
        ("ON DEVICES", _shown(task, "device_memory", is_live=is_live)),
    ]


def _shown(task: TaskUsage, quantity: str, *, is_live: bool) -> str:
    """The current value; of an ended task the mean and the peak."""
    line = task.lines.get(quantity)
    if line is None:
        return "-"
    if is_live:
        return _value(quantity, line.last)
    return f"{_value(quantity, line.average)}, {_value(quantity, line.highest)}"


def _value(quantity: str, value: float) -> str:
    if quantity == "cpu":
        return f"{value:.2f}"
    return f"{value:.0%}" if quantity == "device" else _size(value)


def _of(used: str, reserved: str) -> str:
    return f"{used} of {reserved}" if reserved else used


def _size(value: float) -> str:
    from danlu.spec.units import show_size

    return show_size(value)


def _course(task: TaskUsage) -> str:
    from danlu.cli.sparkline import sparkline

    line = task.lines.get("cpu")
    return "" if line is None else sparkline(line.mean)
