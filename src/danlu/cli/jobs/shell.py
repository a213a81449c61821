"""`danlu shell` and `danlu exec`"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from danlu.cli.options import JobName
from danlu.cli.terminal import echo_bytes

if TYPE_CHECKING:
    from danlu.client import Client, Job
    from danlu.client.jobs.terminals import Size, Terminal

Rank = typer.Option(0, "--rank", "-r", min=0, help="Rank of the task.")
PIECE_BYTES = 1 << 16


def shell(job: JobName, rank: int = Rank) -> None:
    """Open a shell in a running task.

    It has the files, variables, network and devices of the task's command, and ends with the task. The exit
    code is that of the shell. Jobs that were submitted with --debug wait for it. A job that does not run yet is
    waited for.

    \b
    Examples:
      danlu submit job.yml --debug --detach
      danlu shell mnist
      danlu shell mnist --rank 1
    """
    from danlu.client import Client
    from danlu.errors import InvalidInput

    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise InvalidInput("a shell needs a terminal; use `danlu exec JOB -- COMMAND` without one")
    with Client() as client, _running(client, job).terminal(rank, size=_size()) as terminal:
        signal.signal(signal.SIGWINCH, lambda *_: terminal.resize(_size()))
        with _raw_terminal():
            code = _connect(terminal, is_raw=True)
    raise typer.Exit(code)


def exec_(
    job: JobName,
    command: list[str] = typer.Argument(..., metavar="-- COMMAND...", help="Command to run, as it is."),
    rank: int = Rank,
    raw: bool = typer.Option(False, "--raw", help="Print control characters as they are, also on a terminal."),
) -> None:
    """Run a command in a running task.

    A job that does not run yet is waited for.

    It runs beside the command of the task. Its output and errors are printed here, its input is this command's input,
    and its exit code is this command's. On a terminal, control characters other than colours are shown escaped.

    \b
    Examples:
      danlu exec mnist -- nvidia-smi
      danlu exec mnist --rank 1 -- sh -c 'ls $DANLU_OUTPUT_DIR'
    """
    from danlu.client import Client

    with Client() as client, _running(client, job).terminal(rank, command=command) as terminal:
        code = _connect(terminal, is_raw=raw or not sys.stdout.isatty())
    raise typer.Exit(code)


def _running(client: Client, name: str) -> Job:
    """The job, once its command runs. Print why it waits until then."""
    from danlu.cli.jobs.follow import wait_for_start
    from danlu.spec.states import JobState

    job = client.jobs.get(name)
    if job.state is not JobState.RUNNING:
        wait_for_start(job, until_running=True)
    return job


def _connect(terminal: Terminal, *, is_raw: bool) -> int:
    """Copy input and output until it ends; return its exit code."""
    threading.Thread(target=_copy_input, args=(terminal,), daemon=True).start()
    echo_bytes(terminal.output(), is_raw=is_raw)
    return terminal.exit_code if terminal.exit_code is not None else 1


def _copy_input(terminal: Terminal) -> None:
    from danlu.errors import DanluError

    try:
        while data := os.read(0, PIECE_BYTES):
            terminal.write(data)
        terminal.write(b"")
    except (DanluError, OSError):
        return  # it has ended; the output loop reports how


def _size() -> Size:
    from danlu.client.jobs.terminals import Size

    found = os.get_terminal_size(sys.stdout.fileno())
    return Size(rows=found.lines or 24, columns=found.columns or 80)


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Pass all keys to the shell, including Ctrl-C."""
    import termios
    import tty

    before = termios.tcgetattr(0)
    try:
        tty.setraw(0, termios.TCSADRAIN)  # keep what was typed before
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
