"""Follow a job: logs on stdout, events on stderr, and an exit code for its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from danlu.cli.language import told
from danlu.cli.output import rank_prefix
from danlu.cli.terminal import LogText, echo_err, echo_log
from danlu.client import Job, LogLine
from danlu.client.jobs.logs import LogQuery
from danlu.spec.reasons import CATALOGUE
from danlu.spec.states import JobState

NOT_FINISHED = 101
NOT_FOUND = 102
_EXIT_CODES = {JobState.SUCCEEDED: 0, JobState.FAILED: 100, JobState.STOPPED: 103}


def exit_code(state: JobState) -> int:
    return _EXIT_CODES.get(state, NOT_FINISHED)


def follow(job: Job) -> int:
    """Follow a job from the queue to its end; return the exit code. Ctrl-C detaches."""
    try:
        wait_for_start(job)
        print_lines(job.log_batches(LogQuery(follow=True)), num_ranks=job.row.nodes)
        wait_for_end(job)
    except KeyboardInterrupt:
        say_detached(job)
        return NOT_FINISHED
    say_end(job)
    return exit_code(job.state)


def wait_for_start(job: Job, *, until_running: bool = False) -> None:
    """Print why the job waits, whenever that changes, until it starts, or until its command runs."""
    shown: Optional[str] = None
    for _ in job.watch():
        if job.state not in (JobState.QUEUED, JobState.PAUSED, JobState.STARTING):
            return
        if job.row.attempt > 0 and job.state is JobState.STARTING and not until_running:
            return
        text = f"{job.id} {job.state}: {told(job.row.said, job.reason.message)}"
        if text != shown and job.reason.code != "submitted":
            echo_err(text)
            shown = text


def wait_for_end(job: Job, deadline: Optional[float] = None) -> None:
    """Wait until the job has ended; print when it is paused, because it does not end before it is resumed or stopped.

    Raise TimeoutError at the deadline (of time.monotonic).
    """
    was_paused = False
    for _ in job.watch(deadline):
        is_paused = job.state is JobState.PAUSED
        if is_paused and not was_paused:
            echo_err(f"{job.id} is paused. Resume it: danlu resume {job.id}   Stop it: danlu stop {job.id}")
        was_paused = is_paused


def print_lines(batches: Iterable[list[LogLine]], *, num_ranks: int, is_raw: bool = False) -> None:
    """Print lines as they arrive, with a rank prefix if there are several ranks."""
    width = len(str(num_ranks - 1))
    prefixes = [rank_prefix(rank, width) for rank in range(num_ranks)] if num_ranks > 1 else []
    attempt = 0
    for batch in batches:
        if attempt and batch and batch[0].attempt > attempt:
            echo_err(f"attempt {attempt} is over; attempt {batch[0].attempt}:")
        attempt = batch[0].attempt if batch else attempt
        echo_log([LogText(prefixes[line.rank] if prefixes else "", line.text) for line in batch], is_raw=is_raw)


def say_detached(job: Job) -> None:
    echo_err()
    echo_err(f"detached: {job.id} keeps running. Follow it: danlu logs -f {job.id}   Stop it: danlu stop {job.id}")


def say_end(job: Job) -> None:
    tries = f" after {job.row.attempt} attempts" if job.row.attempt > 1 else ""
    echo_err(f"{job.id} {job.state}{tries}: {told(job.row.said, job.reason.message)}")
    entry = CATALOGUE.get(job.reason.code)
    if job.state is JobState.FAILED and entry is not None:
        echo_err(f"  what to do: {entry.remedy}   More: danlu show {job.id}")
    elif job.state is JobState.SUCCEEDED:
        echo_err(f"  results: danlu store ls {job.output}")
