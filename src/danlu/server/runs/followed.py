"""Events for followers of runs: of one run, and of a list."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import BaseModel
from sqlalchemy.orm import Session

from danlu.server import sse
from danlu.server.runs.view import rows_out, run_out
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState
from danlu.server.streams.follower import Follower
from danlu.server.streams.hub import Hub
from danlu.server.streams.poller import Board, Pace
from danlu.server.streams.rounds import Change, Round, Rounds, in_pieces
from danlu.server.streams.versions import VersionBoard
from danlu.spec.runs import RunState
from danlu.store.queries import followed, runs
from danlu.wire.base import GoneOut

NUM_NEWEST = 50
"""Besides running runs, this many of the newest are polled: those that have just started or ended."""

MAX_KNOWN = 5000
"""How many of the runs that were sent are polled again."""


class FollowedRuns(VersionBoard):
    event = "run"
    pace = Pace(usual_seconds=0.5, least_seconds=0.25, most_seconds=1.0)

    def now(self, session: Session, ids: Collection[str]) -> Mapping[str, followed.Followed]:
        return followed.runs_now(session, ids)

    def show(self, session: Session, thing_id: str) -> BaseModel | None:
        row = runs.get_run(session, thing_id)
        return None if row is None else run_out(session, row)

    def is_over(self, state: str) -> bool:
        return RunState(state) is not RunState.RUNNING


@dataclass(eq=False)
class Reader:
    follower: Follower
    number: int = 0
    """The last round that was sent to it."""


@dataclass
class Subject:
    """A list that is followed."""

    readers: set[Reader] = field(default_factory=set)
    versions: dict[str, int] = field(default_factory=dict)
    rounds: Rounds = field(default_factory=Rounds)


Versions = dict[str, int]


class RunLists(Board[Mapping[runs.RunFilter, Versions], Mapping[runs.RunFilter, tuple[Versions, dict[str, Change]]]]):
    """Polls each list once for all followers of it that have the same rights."""

    pace = Pace(usual_seconds=1.0, least_seconds=1.0, most_seconds=5.0)

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._subjects: dict[runs.RunFilter, Subject] = {}

    async def tell(self, hub: Hub, follower: Follower, asked: runs.RunFilter) -> AsyncGenerator[bytes, None]:
        """The list as it is now, then each change."""
        wanted = _as_seen_by(follower, asked)
        subject, reader = self._join(wanted, Reader(follower))
        told: Mapping[str, int] = {}
        try:
            while not follower.is_ended:
                await self.poller.fresh()
                reader.number = subject.rounds.number
                for piece in await self._difference(hub, follower, told, subject.versions):
                    yield piece
                yield sse.KEEP_ALIVE.plain  # shows that the stream is open
                async for piece in _until_rights_change(follower, asked, wanted, subject, reader):
                    yield piece
                if _as_seen_by(follower, asked) == wanted:
                    return
                told = dict(subject.versions)
                self._leave(wanted, subject, reader)
                wanted = _as_seen_by(follower, asked)
                subject, reader = self._join(wanted, reader)
        finally:
            self._leave(wanted, subject, reader)

    @property
    def is_followed(self) -> bool:
        return bool(self._subjects)

    def wanted(self) -> Mapping[runs.RunFilter, Versions]:
        return {wanted: dict(subject.versions) for wanted, subject in self._subjects.items()}

    def look(
        self, wanted: Mapping[runs.RunFilter, Versions]
    ) -> Mapping[runs.RunFilter, tuple[Versions, dict[str, Change]]]:
        found: dict[runs.RunFilter, tuple[Versions, dict[str, Change]]] = {}
        for one, known in wanted.items():
            with self.state.database.reading() as session:
                again = list(known)[-MAX_KNOWN:]
                versions = runs.lively_versions(session, one, num_newest=NUM_NEWEST, also=again)
                moved = [run_id for run_id, version in versions.items() if known.get(run_id) != version]
                changes = _rows(session, moved)
            changes |= {run_id: _gone(run_id) for run_id in sorted(set(again) - versions.keys())}
            # those known longest come first, so that they are dropped first
            found[one] = {run_id: versions[run_id] for run_id in known if run_id in versions} | versions, changes
        return found

    def take(self, found: Mapping[runs.RunFilter, tuple[Versions, dict[str, Change]]]) -> bool:
        for wanted, (versions, changes) in found.items():
            subject = self._subjects.get(wanted)
            if subject is None:
                continue
            subject.versions = versions
            if changes:
                _tell_all(subject, subject.rounds.add(changes))
        return False

    async def _difference(
        self, hub: Hub, follower: Follower, told: Mapping[str, int], now: Mapping[str, int]
    ) -> Iterable[bytes]:
        moved = [run_id for run_id, version in now.items() if told.get(run_id) != version]
        rows = await hub.read(follower, _rows_of, self.state, moved)
        gone = (_gone(run_id) for run_id in sorted(told.keys() - now.keys()))
        return in_pieces([*(change.event for change in rows.values()), *(change.event for change in gone)])

    def _join(self, wanted: runs.RunFilter, reader: Reader) -> tuple[Subject, Reader]:
        subject = self._subjects.setdefault(wanted, Subject())
        subject.readers.add(reader)
        return subject, reader

    def _leave(self, wanted: runs.RunFilter, subject: Subject, reader: Reader) -> None:
        subject.readers.discard(reader)
        if not subject.readers and self._subjects.get(wanted) is subject:
            del self._subjects[wanted]


def listed_runs(state: ServerState, wanted: runs.RunFilter) -> list[bytes]:
    """The rows that a stream of a list begins with."""
    with state.database.reading() as session:
        versions = runs.lively_versions(session, wanted, num_newest=NUM_NEWEST)
        return [change.event for change in _rows(session, list(versions)).values()]


async def _until_rights_change(
    follower: Follower, asked: runs.RunFilter, wanted: runs.RunFilter, subject: Subject, reader: Reader
) -> AsyncGenerator[bytes, None]:
    while not follower.is_ended and _as_seen_by(follower, asked) == wanted:
        changes = subject.rounds.since(reader.number)
        if changes is None:  # too far behind: the client reconnects and starts over
            return
        reader.number = subject.rounds.number
        for piece in in_pieces(change.event for change in changes.values()):
            yield piece
        if reader.number == subject.rounds.number:
            await follower.wait()


def _tell_all(subject: Subject, made: Round) -> None:
    frame = sse.Frame(b"".join(change.event for change in made.changes.values()))
    for reader in subject.readers:
        if reader.number == made.number - 1 and reader.follower.say(frame):
            reader.number = made.number
        else:
            reader.follower.wake()


def _as_seen_by(follower: Follower, asked: runs.RunFilter) -> runs.RunFilter:
    ids = visible_project_ids(follower.who)
    return replace(asked, project_ids=None if ids is None else tuple(sorted(ids)))


def _rows_of(state: ServerState, ids: Collection[str]) -> dict[str, Change]:
    with state.database.reading() as session:
        return _rows(session, list(ids))


def _rows(session: Session, ids: list[str]) -> dict[str, Change]:
    shown = rows_out(session, runs.by_ids(session, ids))
    return {row.id: Change(sse.event("run", row)) for row in shown}


def _gone(run_id: str) -> Change:
    return Change(sse.event("gone", GoneOut(id=run_id)))
