"""A job as the SDK returns it: its last known state, and what can be done with it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Optional, Union

from danlu.client.events import NotEvents, TimeLimit, events
from danlu.client.http import Http, Query
from danlu.client.jobs.endpoints import Endpoints
from danlu.client.jobs.logs import (
    LogLine,
    LogPiece,
    LogQuery,
    Ranks,
    log_query,
    read_batches,
    read_piece,
    read_raw,
)
from danlu.client.jobs.terminals import Size, Terminal
from danlu.client.moments import Since
from danlu.client.pages import pages
from danlu.client.people.notices import list_alerts
from danlu.spec.messages.catalogue import Message
from danlu.spec.reasons import Reason
from danlu.spec.states import JobState, is_over
from danlu.wire.jobs import EventOut, JobOut, JobSummary
from danlu.wire.logs import LogTimes
from danlu.wire.monitoring.alerts import AlertOut
from danlu.wire.usage import UsageOut
from danlu.wire.why import WhyOut

_POLL_SECONDS = 1.0


class Job:
    """A job. Properties return what the server last reported; `refresh()` asks again."""

    def __init__(self, http: Http, known: Union[JobOut, JobSummary]) -> None:
        self._http = http
        self._known = known

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.name!r} {self.state}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def id(self) -> str:
        return self._known.id

    @property
    def name(self) -> str:
        return self._known.name

    @property
    def state(self) -> JobState:
        return self._known.state

    @property
    def reason(self) -> Reason:
        """Why it waits or ended."""
        return self._known.reason

    @property
    def said(self) -> Optional[Message]:
        """The reason's message as a code with parameters."""
        return self._known.said

    @property
    def is_over(self) -> bool:
        return is_over(self.state)

    @property
    def row(self) -> JobSummary:
        """The fields of a job in lists."""
        return self._known

    @property
    def details(self) -> JobOut:
        """All fields; fetched when the job came from a list."""
        if not isinstance(self._known, JobOut):
            self.refresh()
        assert isinstance(self._known, JobOut)
        return self._known

    @property
    def output(self) -> str:
        """Store path of its results: `store://bucket/.../<job id>/`."""
        return self.details.output

    def refresh(self) -> Job:
        self._known = self._http.get(f"/jobs/{self.id}", JobOut)
        return self

    def wait(self, timeout: Optional[float] = None) -> Job:
        """Block until the job has ended. Reconnects when the connection breaks.

        Does not raise when the job failed: check `state` and `reason`. Raises TimeoutError after `timeout` seconds, and
        ServerUnreachable when the server is unreachable for five minutes.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        for _ in self.watch(deadline):
            if self.is_over:
                break
        return self

    def watch(self, deadline: Optional[float] = None) -> Iterator[Job]:
        """Yield this job each time it has changed, until it has ended."""
        try:
            for event in events(self._http, f"/jobs/{self.id}/watch", query=dict, deadline=deadline):
                if event is not None and event.event == "job":
                    self._known = JobOut.model_validate_json(event.data)
                    yield self
                    if self.is_over:
                        return
        except NotEvents:
            yield from self._poll(deadline)
        except TimeLimit as error:
            raise TimeoutError(f"{self.id} is still {self.state}: {self.reason.message}") from error

    def logs(
        self,
        follow: bool = False,
        *,
        rank: Optional[Ranks] = None,
        attempt: Optional[int] = None,
        tail: Optional[int] = None,
        since: Optional[Since] = None,
        grep: Optional[str] = None,
    ) -> Iterator[LogLine]:
        """Yield lines of all ranks or the given ones, by default of the newest attempt.

        With `follow`, continues until the job has ended, and resumes after a broken connection. `since`: Unix seconds,
        a datetime, a timedelta or text such as `10m`. `grep`: a regular expression, searched for on the server.
        """
        asked = log_query(follow=follow, rank=rank, attempt=attempt, tail=tail, since=since, grep=grep)
        return chain.from_iterable(read_batches(self._http, self.id, asked))

    def log_batches(self, asked: LogQuery) -> Iterator[list[LogLine]]:
        """Yield the same lines in batches as they arrive, for programs that forward them."""
        return read_batches(self._http, self.id, asked)

    def raw_log(self, rank: int = 0, *, attempt: Optional[int] = None) -> Iterator[bytes]:
        """Yield one rank's log byte for byte, up to its current end."""
        return read_raw(self._http, self.id, rank=rank, attempt=attempt)

    def log_piece(
        self, rank: int, offset: int, *, limit: Optional[int] = None, attempt: Optional[int] = None
    ) -> LogPiece:
        """Return bytes of one rank's log from an offset, for reading a long log in pages or from its end."""
        return read_piece(self._http, self.id, rank=rank, attempt=attempt, offset=offset, limit=limit)

    def log_times(self, rank: int, offset: int = 0, *, attempt: Optional[int] = None) -> LogTimes:
        """Return at most 1000 times at which one rank's log was written beyond an offset, with its length then."""
        query: Query = {"attempt": attempt, "offset": offset}
        return self._http.get(f"/jobs/{self.id}/logs/{rank}/times", LogTimes, query=query)

    def usage(self, *, attempt: Optional[int] = None, rank: Optional[Ranks] = None, points: int = 300) -> UsageOut:
        """Resource usage of its tasks over time: cores, memory, I/O and devices.

            for task in job.usage().tasks:
                print(task.rank, task.lines["memory"].highest)

        By default of the newest attempt; with at most `points` points per line.
        """
        ranks = None if rank is None else [rank] if isinstance(rank, int) else list(rank)
        return self._http.get(
            f"/jobs/{self.id}/usage", UsageOut, query={"attempt": attempt, "rank": ranks, "points": points}
        )

    def terminal(
        self, rank: int = 0, *, command: Optional[Sequence[str]] = None, size: Optional[Size] = None
    ) -> Terminal:
        """Start an additional command in a running task, by default a shell.

        With a size it has a terminal. Raises WrongState when the task does not run.
        """
        return Terminal(self._http, self.id, rank=rank, command=command, size=size)

    def alerts(self) -> Iterator[AlertOut]:
        """Current and past alerts about it, newest first."""
        return list_alerts(self._http, job=self.id)

    @property
    def endpoints(self) -> Endpoints:
        """Its ports that can be opened in a browser while it runs."""
        return Endpoints(self._http, self.id)

    def view(self) -> Job:
        """Start a small job that shows this one, which has ended, in TensorBoard; if one runs, return it."""
        return Job(self._http, self._http.post(f"/jobs/{self.id}/viewers", JobOut))

    def events(self) -> Iterator[EventOut]:
        """What happened to the job, oldest first."""
        return pages(self._http, f"/jobs/{self.id}/events", EventOut)

    def why(self) -> WhyOut:
        """Explain in full why it waits: what is missing, jobs ahead, limits, when it may start, and what would help."""
        return self._http.get(f"/jobs/{self.id}/why", WhyOut)

    def stop(self) -> Job:
        """Request a stop and return at once; use `wait()` to wait for it. Does nothing when the job has ended."""
        return self._do("stop")

    def pause(self) -> Job:
        """Release its devices; `resume()` queues it again."""
        return self._do("pause")

    def resume(self) -> Job:
        return self._do("resume")

    def start(self) -> Job:
        """Run a job that has ended again: same id, new attempt."""
        return self._do("start")

    def delete(self) -> None:
        """Delete the job and its logs. Its output stays in the store. Raises WrongState unless the job has ended."""
        self._http.send("DELETE", f"/jobs/{self.id}")

    def _do(self, verb: str) -> Job:
        # all of these are idempotent, except for starting a new attempt
        self._known = self._http.post(f"/jobs/{self.id}/{verb}", JobOut, is_repeatable=verb != "start")
        return self

    def _poll(self, deadline: Optional[float]) -> Iterator[Job]:
        seen: Optional[JobSummary] = None
        while True:
            self.refresh()
            if self._known != seen:
                seen = self._known
                yield self
            if self.is_over:
                return
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"{self.id} is still {self.state}: {self.reason.message}")
            left = _POLL_SECONDS if deadline is None else deadline - time.monotonic()
            time.sleep(max(0.0, min(_POLL_SECONDS, left)))
