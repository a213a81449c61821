"""Reading logs: which ranks, from where, cut at line ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, cast

import re2
from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.errors import InvalidInput, NotFound
from danlu.server.jobs.service import find
from danlu.server.state import ServerState
from danlu.spec.states import JobState, TaskState, is_live, task_ended
from danlu.spec.units import show_size
from danlu.store.queries import attempts, jobs
from danlu.wire.logs import LogChunk

CHUNK_BYTES = 256 << 10
MAX_HELD = 4


class _Compiled(Protocol):
    def search(self, text: str) -> object: ...


@dataclass(frozen=True, slots=True)
class Pattern:
    """What lines are searched for."""

    in_line: _Compiled
    in_text: _Compiled | None
    """Finds something in every text that has a line which matches; None where there is no such pattern."""

    def lines_of(self, text: str) -> str:
        """The lines that match. Most of a log does not, and is passed over in one look."""
        if self.in_text is not None and not self.in_text.search(text):
            return ""
        return "".join(f"{line}\n" for line in text.removesuffix("\n").split("\n") if self.in_line.search(line))


@dataclass(frozen=True, slots=True)
class LogQuery:
    attempt: int | None = None
    ranks: Sequence[int] = ()
    starts: Sequence[str] = ()
    """RANK:OFFSET, where an earlier read left off."""

    tail: int | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogCursor:
    """Where a reader of one rank stands."""

    rank: int
    offset: int
    num_held: int = 0
    """How many looks in a row found only the beginning of a line."""


@dataclass(frozen=True, slots=True)
class LogPlace:
    job_id: str
    attempt: int
    cursors: tuple[LogCursor, ...]


def locate(state: ServerState, who: UserIdentity, job: str, query: LogQuery) -> LogPlace:
    """Resolve what somebody wants to read. Attempt 0 means that there is none yet."""
    with state.database.reading() as session:
        row = find(session, who, job)
        number = row.attempt if query.attempt is None else query.attempt
        if not 0 <= number <= row.attempt or (query.attempt is not None and number == 0):
            had = f"its attempts are 1 to {row.attempt}" if row.attempt else "it has not been started yet"
            raise NotFound(f"{row.id} has no attempt {number}; {had}")
        known = tuple(range(row.spec["nodes"]))
        made = attempts.get_attempt(session, row.id, number)
        if made is not None and not made.has_logs:
            days = state.settings.log_days
            raise NotFound(f"the logs of attempt {number} of {row.id} were removed: they are kept for {days} days")
    ranks = tuple(query.ranks) or known
    for rank in ranks:
        if rank not in known:
            have = f"its ranks are 0 to {known[-1]}" if len(known) > 1 else "its only rank is 0"
            raise NotFound(f"{row.id} has no rank {rank}; {have}")
    starts = dict(_start(text) for text in query.starts)
    cursors = tuple(LogCursor(rank, _first(state, row.id, number, rank, query, starts)) for rank in ranks)
    return LogPlace(row.id, number, cursors)


def read_chunk(
    state: ServerState, place: LogPlace, cursor: LogCursor, *, is_complete: bool, pattern: Pattern | None
) -> tuple[LogChunk | None, LogCursor]:
    """Read on from a cursor; None when there is nothing new. An unfinished line waits a moment for its end."""
    data = state.logs.read(place.job_id, place.attempt, cursor.rank, cursor.offset, CHUNK_BYTES)
    if not data:
        return _over_a_cut(state, place, cursor)
    can_wait = not is_complete and len(data) < CHUNK_BYTES and cursor.num_held < MAX_HELD
    whole = _whole_lines(data, can_wait=can_wait)
    if not whole:
        return None, replace(cursor, num_held=cursor.num_held + 1)
    after = LogCursor(cursor.rank, cursor.offset + len(whole))
    text = whole.decode("utf-8", errors="replace")
    if pattern is not None:
        text = pattern.lines_of(text)
    chunk = LogChunk(attempt=place.attempt, rank=cursor.rank, offset=cursor.offset, next_offset=after.offset, text=text)
    return chunk, after


def _over_a_cut(state: ServerState, place: LogPlace, cursor: LogCursor) -> tuple[LogChunk | None, LogCursor]:
    """Say that a part of the log was removed, and go on behind it; nothing when this is the log's end."""
    after = state.logs.next_stored(place.job_id, place.attempt, cursor.rank, cursor.offset)
    if after == cursor.offset:
        return None, replace(cursor, num_held=0)
    kept = show_size(state.logs.max_bytes)
    text = f"[danlu: {show_size(after - cursor.offset)} of this log were removed here; {kept} are kept of each rank]\n"
    chunk = LogChunk(attempt=place.attempt, rank=cursor.rank, offset=cursor.offset, next_offset=after, text=text)
    return chunk, LogCursor(cursor.rank, after)


def status(session: Session, place: LogPlace) -> tuple[JobState, int, dict[int, bool]] | None:
    """The job's state, its newest attempt, and which ranks' logs are complete; None when the job is gone."""
    row = jobs.get_job(session, place.job_id)
    if row is None:
        return None
    tasks = attempts.tasks_by_key(session, [(place.job_id, place.attempt)]).get(place.job_id, [])
    ended = {task.rank: task_ended(TaskState(task.state)) for task in tasks}
    return JobState(row.state), row.attempt, ended


def is_over_for(state: JobState, newest: int, place: LogPlace) -> bool:
    """Whether nothing more will be written to this attempt's logs."""
    return place.attempt < newest or not (is_live(state) or state is JobState.QUEUED)


def compile_pattern(text: str | None) -> Pattern | None:
    """RE2: its time grows with the text only. Python's own engine could be kept busy for ever by one pattern."""
    options = re2.Options()
    options.log_errors = False
    try:
        if not text:
            return None
        in_line = cast("_Compiled", re2.compile(text, options))
        # lines begin and end inside of a text; \A and the like, or flags that are taken back, would not see that
        is_plain = re.search(r"\\[AzQ]|\(\?[a-zA-Z]*-", text) is None
        in_text = cast("_Compiled", re2.compile(f"(?m){text}", options)) if is_plain else None
        return Pattern(in_line, in_text)
    except re2.error as error:
        problem = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        told = f"{text!r} is not a regular expression: {problem}"
        raise InvalidInput(f"grep: {told}", fields={"grep": told}) from error


def _first(state: ServerState, job_id: str, number: int, rank: int, query: LogQuery, starts: dict[int, int]) -> int:
    if rank in starts:
        return starts[rank]
    first = 0 if query.since is None else state.logs.offset_at(job_id, number, rank, query.since)
    if query.tail is not None:
        end = state.logs.length(job_id, number, rank)
        first = max(first, state.logs.tail_offset(job_id, number, rank, query.tail, end))
    return first


def _start(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,6}):(\d{1,18})", text, re.ASCII)
    if found is None:
        problem = f"{text!r} is not a place in a log; RANK:OFFSET would be right"
        raise InvalidInput(f"from: {problem}", fields={"from": problem})
    return int(found.group(1)), int(found.group(2))


def _whole_lines(data: bytes, *, can_wait: bool) -> bytes:
    """Cut after the last line end (progress bars end theirs with a return); without one, never inside a character."""
    cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    if cut:
        return data[:cut] if can_wait or len(data) == CHUNK_BYTES else data
    if can_wait and data:
        return b""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if back < needed and len(data) == CHUNK_BYTES else data
        if byte < 0x80:
            break
    return data
