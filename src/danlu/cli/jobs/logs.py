"""`danlu logs`"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.options import JobName
from danlu.cli.terminal import echo_json_lines, fail

if TYPE_CHECKING:
    from danlu.client import Client, LogLine
    from danlu.client.jobs.job import Job


def logs(
    job: JobName,
    follow: bool = typer.Option(False, "--follow", "-f", help="Follow until the job ends; Ctrl-C detaches."),
    rank: Optional[str] = typer.Option(None, "--rank", "-r", help="Only these ranks, such as 0 or 0,2-3."),
    attempt: Optional[int] = typer.Option(None, min=1, help="Attempt number; default: the newest."),
    since: Optional[str] = typer.Option(None, help="Only lines since then, such as 10m or 2026-01-31T12:00."),
    tail: Optional[int] = typer.Option(None, "--tail", "-n", min=0, help="Only the last lines of each rank."),
    grep: Optional[str] = typer.Option(None, help="Only lines that match this regular expression."),
    timestamps: bool = typer.Option(False, "--timestamps", "-t", help="Begin lines with when they were written, UTC."),
    raw: bool = typer.Option(False, "--raw", help="Print control characters as they are, also on a terminal."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per line."),
) -> None:
    """Print or follow the logs of a job.

    With `*` and `?` in the name: the newest job whose id or name fits.
    With several ranks every line starts with its rank. An interrupted connection is resumed.
    On a terminal, control characters other than colours are shown escaped; a pipe or a file gets the bytes.

    \b
    Exit codes with -f: 0 succeeded, 100 failed, 101 not finished (detached), 103 stopped. 102: no such job.

    \b
    Examples:
      danlu logs train-0741234
      danlu logs -f mnist --rank 0
      danlu logs 'train-0741*' --timestamps
      danlu logs mnist --tail 100 --rank 0,2-3
      danlu logs mnist --since 10m --grep 'loss=nan'
    """
    from danlu.cli.jobs.follow import NOT_FINISHED, NOT_FOUND, exit_code, print_lines, say_detached, say_end
    from danlu.cli.jobs.stamps import Stamps
    from danlu.client import Client
    from danlu.client.jobs.logs import log_query
    from danlu.errors import NotFound

    ranks = parse_ranks(rank)
    with Client() as client:
        try:
            found = _find(client, job)
        except NotFound as error:
            fail(error.message, code=NOT_FOUND)
        batches = found.log_batches(
            log_query(follow=follow, rank=ranks, attempt=attempt, tail=tail, since=since, grep=grep)
        )
        batches = Stamps(found).stamped(batches) if timestamps else batches
        try:
            if as_json:
                _print_json_lines(batches)
            else:
                num_ranks = 1 if ranks and len(ranks) == 1 else found.row.nodes
                print_lines(batches, num_ranks=num_ranks, is_raw=raw)
            if not follow:
                return
            found.refresh()
        except KeyboardInterrupt:
            say_detached(found)
            raise typer.Exit(NOT_FINISHED) from None
        if found.is_over:
            say_end(found)
        raise typer.Exit(exit_code(found.state))


def _find(client: Client, job: str) -> Job:
    """The job of an id or a name; with `*`, `?` or `[`, the newest one that fits. Raises NotFound."""
    from danlu.errors import NotFound

    if not any(letter in job for letter in "*?["):
        return client.jobs.get(job)
    for one in client.jobs.list():
        if fnmatch.fnmatchcase(one.id, job) or fnmatch.fnmatchcase(one.row.name, job):
            return one
    raise NotFound(f"no job matches {job!r}; `danlu ps -a` lists them")


def parse_ranks(text: Optional[str]) -> Optional[list[int]]:
    """Parse `0,2-3`."""
    if text is None:
        return None
    ranks: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        first, last = (int(found.group(1)), int(found.group(2) or found.group(1))) if found else (1, 0)
        if last < first or last - first > 100_000:
            raise typer.BadParameter(f"expected ranks such as 0 or 0,2-3, got {text!r}", param_hint="--rank")
        ranks += [rank for rank in range(first, last + 1) if rank not in ranks]
    return ranks


def _print_json_lines(batches: Iterable[list[LogLine]]) -> None:
    for batch in batches:
        echo_json_lines(line._asdict() for line in batch)
