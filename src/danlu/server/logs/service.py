"""Reading logs: which ranks, and from where."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.errors import InvalidInput, NotFound
from danlu.server.jobs.service import find
from danlu.server.logs.reading import LogKey
from danlu.server.state import ServerState
from danlu.spec.states import JobState, TaskState, is_live, task_ended
from danlu.store.queries import attempts, followed


@dataclass(frozen=True, slots=True)
class LogQuery:
    attempt: int | None = None
    ranks: Sequence[int] = ()
    starts: Sequence[str] = ()
    """RANK:OFFSET, to continue an earlier read."""

    tail: int | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogPlace:
    key: LogKey
    offsets: dict[int, int]
    """Rank -> offset to read from."""

    is_given: Set[int] = frozenset()
    """Ranks whose offset is in the query."""


@dataclass(frozen=True, slots=True)
class LogStatus:
    """Status of the logs of one attempt."""

    job_state: JobState
    newest_attempt: int
    project_id: int
    lengths: dict[int, int]
    """Rank -> how many bytes are stored."""

    ended: frozenset[int]
    """Ranks whose log is complete."""

    is_over: bool
    """Whether nothing more will be written to the logs of this attempt."""


def resolve(session: Session, state: ServerState, who: UserIdentity, job: str, query: LogQuery) -> LogPlace:
    """Find the attempt and the ranks of a query, each with its given offset or 0."""
    row = find(session, who, job)
    number = row.attempt if query.attempt is None else query.attempt
    if not 0 <= number <= row.attempt or (query.attempt is not None and number == 0):
        had = f"its attempts are 1 to {row.attempt}" if row.attempt else "it has not been started yet"
        raise NotFound(f"{row.id} has no attempt {number}; {had}")
    made = attempts.get_attempt(session, row.id, number)
    if made is not None and not made.has_logs:
        days = state.settings.log_days
        raise NotFound(f"the logs of attempt {number} of {row.id} were removed: they are kept for {days} days")
    known = range(row.spec["nodes"])
    for rank in query.ranks:
        if rank not in known:
            have = f"its ranks are 0 to {known[-1]}" if len(known) > 1 else "its only rank is 0"
            raise NotFound(f"{row.id} has no rank {rank}; {have}")
    starts = dict(_start(text) for text in query.starts)
    return LogPlace(LogKey(row.id, number), {rank: starts.get(rank, 0) for rank in query.ranks or known}, set(starts))


def statuses(session: Session, keys: Sequence[LogKey]) -> dict[LogKey, LogStatus]:
    """Status of these attempts at one moment, without those of deleted jobs."""
    jobs = followed.jobs_now(session, {key.job_id for key in keys})
    tasks = followed.tasks_now(session, keys)
    found: dict[LogKey, LogStatus] = {}
    for key in keys:
        job = jobs.get(key.job_id)
        if job is None:
            continue
        mine, state = tasks.get(key, []), JobState(job.state)
        found[key] = LogStatus(
            job_state=state,
            newest_attempt=job.attempt,
            project_id=job.project_id,
            lengths={task.rank: task.log_bytes for task in mine},
            ended=frozenset(task.rank for task in mine if task_ended(TaskState(task.state))),
            is_over=key.attempt < job.attempt or not (is_live(state) or state is JobState.QUEUED),
        )
    return found


def status(session: Session, key: LogKey) -> LogStatus | None:
    """Status of one attempt; None when the job was deleted."""
    return statuses(session, [key]).get(key)


def _start(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,6}):(\d{1,18})", text, re.ASCII)
    if found is None:
        problem = f"expected RANK:OFFSET, got {text!r}"
        raise InvalidInput(f"from: {problem}", fields={"from": problem})
    return int(found.group(1)), int(found.group(2))
