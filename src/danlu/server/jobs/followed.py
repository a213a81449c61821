"""Events for followers of jobs: of one job, and of all that a user sees."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from pydantic import BaseModel
from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.server import sse
from danlu.server.jobs.view import job_out, rows_out
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState
from danlu.server.streams.follower import Follower
from danlu.server.streams.hub import Hub
from danlu.server.streams.poller import Board, Pace
from danlu.server.streams.rounds import Change, Round, Rounds, in_pieces
from danlu.server.streams.versions import VersionBoard
from danlu.spec.states import JobState, is_over
from danlu.store.queries import followed, jobs
from danlu.wire.base import GoneOut

OVERLAP = timedelta(seconds=10)
"""A stream begins with recent changes, so that a client that fetches the list and then follows misses nothing."""

Projects = frozenset[int] | None
"""Ids of the projects that a user sees; None: all."""


class FollowedJobs(VersionBoard):
    event = "job"

    def now(self, session: Session, ids: Collection[str]) -> Mapping[str, followed.Followed]:
        return followed.jobs_now(session, ids)

    def show(self, session: Session, thing_id: str) -> BaseModel | None:
        row = jobs.get_job(session, thing_id)
        return None if row is None else job_out(session, row, self.state.now())

    def is_over(self, state: str) -> bool:
        return is_over(JobState(state))


@dataclass(frozen=True)
class Open:
    """All active jobs at one moment."""

    event_id: int
    jobs: Mapping[str, tuple[int, int]]
    """Id -> version and project."""


@dataclass(eq=False)
class Reader:
    follower: Follower
    projects: Projects
    number: int = 0
    """The last round that was sent to it."""


class JobList(Board[Open | None, tuple[Open, dict[str, Change]]]):
    """Polls all jobs once for all followers, and sends each follower what they may see."""

    pace = Pace(usual_seconds=0.5, least_seconds=0.2, most_seconds=2.0)

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._readers: set[Reader] = set()
        self._open: Open | None = None
        self._rounds = Rounds()

    async def tell(self, hub: Hub, follower: Follower) -> AsyncGenerator[bytes, None]:
        """Changes of the last seconds, then each change as it happens."""
        reader = Reader(follower, _projects(follower.who))
        self._readers.add(reader)
        try:
            await self.poller.fresh()
            reader.number = self._rounds.before(OVERLAP.total_seconds())
            yield sse.KEEP_ALIVE.plain  # shows that the stream is open
            while not follower.is_ended:
                if _projects(follower.who) != reader.projects:
                    for piece in await self._other_rights(hub, reader):
                        yield piece
                changes = self._rounds.since(reader.number)
                if changes is None:  # too far behind: the client reconnects and starts over
                    return
                reader.number = self._rounds.number
                for piece in in_pieces(_seen(changes.values(), reader.projects)):
                    yield piece
                if reader.number == self._rounds.number:
                    await follower.wait()
        finally:
            self._readers.discard(reader)
            if not self._readers:
                self._open, self._rounds = None, Rounds()

    @property
    def is_followed(self) -> bool:
        return bool(self._readers)

    def wanted(self) -> Open | None:
        return self._open

    def look(self, wanted: Open | None) -> tuple[Open, dict[str, Change]]:
        with self.state.database.reading() as session:
            now = followed.open_jobs(session)
            since = jobs.last_event(session, self.state.now() - OVERLAP) if wanted is None else wanted.event_id
            happened, event_id = jobs.with_events(session, since)
            known = now if wanted is None else wanted.jobs
            moved = {job_id for job_id, row in now.items() if known.get(job_id) != row}
            left = known.keys() - now.keys()
            changes = _rows(session, self.state, happened | moved | left, event_id)
        for job_id in left - changes.keys():
            changes[job_id] = _gone(job_id, known[job_id][1], event_id)
        return Open(event_id, now), changes

    def take(self, found: tuple[Open, dict[str, Change]]) -> bool:
        if not self._readers:  # all disconnected meanwhile: the next follower starts over
            return False
        self._open, changes = found
        if changes:
            self._tell_all(self._rounds.add(changes))
        return False

    def _tell_all(self, made: Round) -> None:
        frames: dict[Projects, sse.Frame] = {}
        for reader in self._readers:
            frame = frames.get(reader.projects)
            if frame is None:
                frame = frames[reader.projects] = sse.Frame(b"".join(_seen(made.changes.values(), reader.projects)))
            if reader.number == made.number - 1 and (not frame.plain or reader.follower.say(frame)):
                reader.number = made.number
            else:
                reader.follower.wake()

    async def _other_rights(self, hub: Hub, reader: Reader) -> Iterable[bytes]:
        """Send the jobs that became visible to the user when their rights changed, and `gone` for those that no longer
        are."""
        before, reader.projects = reader.projects, _projects(reader.follower.who)
        if self._open is None:
            return ()
        event_id, new, gone = self._open.event_id, set(), []
        for job_id, (_, project_id) in self._open.jobs.items():
            saw, sees = _sees(before, project_id), _sees(reader.projects, project_id)
            if sees and not saw:
                new.add(job_id)
            elif saw and not sees:
                gone.append(_gone(job_id, project_id, event_id).event)
        rows = await hub.read(reader.follower, self._rows_now, new, event_id)
        return in_pieces([*_seen(rows.values(), reader.projects), *gone])

    def _rows_now(self, ids: set[str], event_id: int) -> dict[str, Change]:
        with self.state.database.reading() as session:
            return _rows(session, self.state, ids, event_id)


def recent_jobs(state: ServerState, who: UserIdentity) -> list[bytes]:
    """Rows of the visible jobs that changed in the last seconds."""
    with state.database.reading() as session:
        happened, event_id = jobs.with_events(session, jobs.last_event(session, state.now() - OVERLAP))
        return _seen(_rows(session, state, happened, event_id).values(), _projects(who))


def _rows(session: Session, state: ServerState, ids: set[str], event_id: int) -> dict[str, Change]:
    """A change for each of the jobs that exists."""
    rows = jobs.shown_by_id(session, sorted(ids))
    event = partial(sse.event, "job", event_id=str(event_id))
    return {
        row.id: Change(event(shown), row.project_id)
        for row, shown in zip(rows, rows_out(session, rows, state.now()), strict=True)
    }


def _gone(job_id: str, project_id: int, event_id: int) -> Change:
    return Change(sse.event("gone", GoneOut(id=job_id), event_id=str(event_id)), project_id)


def _seen(changes: Iterable[Change], projects: Projects) -> list[bytes]:
    return [change.event for change in changes if _sees(projects, change.project_id)]


def _sees(projects: Projects, project_id: int) -> bool:
    return projects is None or project_id in projects


def _projects(who: UserIdentity) -> Projects:
    ids = visible_project_ids(who)
    return None if ids is None else frozenset(ids)
