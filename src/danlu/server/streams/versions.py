"""Streams of things with a version, such as a job: followers get its new versions until it is over."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import BaseModel
from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.server import sse
from danlu.server.streams.follower import Follower
from danlu.server.streams.poller import Board, Pace
from danlu.store.queries.followed import Followed


@dataclass(frozen=True)
class Shown:
    """A thing as of the last look."""

    version: int
    project_id: int
    is_over: bool
    frame: sse.Frame


@dataclass(eq=False)
class Reader:
    follower: Follower
    version: int = -1
    """The last version that was sent to it."""


@dataclass
class Subject:
    """A thing that is followed."""

    readers: set[Reader] = field(default_factory=set)
    shown: Shown | None = None
    """None before the first look, and when it was deleted."""


class VersionBoard(Board[Mapping[str, int], Mapping[str, Shown | None]]):
    """All followed things of a kind."""

    pace = Pace(usual_seconds=0.25, least_seconds=0.1, most_seconds=0.5)
    event: ClassVar[str]

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._subjects: dict[str, Subject] = {}

    @abstractmethod
    def now(self, session: Session, ids: Collection[str]) -> Mapping[str, Followed]:
        """Those that exist."""

    @abstractmethod
    def show(self, session: Session, thing_id: str) -> BaseModel | None:
        """The thing as users see it."""

    @abstractmethod
    def is_over(self, state: str) -> bool:
        """Whether a thing in this state changes no more."""

    async def tell(self, thing_id: str, follower: Follower) -> AsyncGenerator[bytes, None]:
        """The thing at once and at each change. Ends when it is over or deleted: the next request reports which."""
        with self._following(thing_id, follower) as (subject, reader):
            await self.poller.fresh()
            while not follower.is_ended and subject.shown is not None:
                shown = subject.shown
                if shown.version != reader.version:
                    reader.version = shown.version
                    yield shown.frame.plain
                    continue  # it may have changed meanwhile
                if shown.is_over:
                    return
                await follower.wait()

    @property
    def is_followed(self) -> bool:
        return bool(self._subjects)

    def wanted(self) -> Mapping[str, int]:
        return {
            thing_id: -1 if subject.shown is None else subject.shown.version
            for thing_id, subject in self._subjects.items()
        }

    def look(self, wanted: Mapping[str, int]) -> Mapping[str, Shown | None]:
        """What changed; None for deleted things."""
        found: dict[str, Shown | None] = {}
        with self.state.database.reading() as session:
            things = self.now(session, wanted.keys())
            for thing_id, version in wanted.items():
                thing = things.get(thing_id)
                if thing is None:
                    found[thing_id] = None
                elif thing.version != version:
                    found[thing_id] = self._shown(session, thing)
        return found

    def take(self, found: Mapping[str, Shown | None]) -> bool:
        for thing_id, shown in found.items():
            subject = self._subjects.get(thing_id)
            if subject is None:
                continue
            before, subject.shown = subject.shown, shown
            for reader in subject.readers:
                is_in_step = before is not None and reader.version == before.version
                if shown is not None and not shown.is_over and is_in_step and reader.follower.say(shown.frame):
                    reader.version = shown.version
                else:
                    reader.follower.wake()
        return False

    def _shown(self, session: Session, thing: Followed) -> Shown | None:
        model = self.show(session, thing.id)
        if model is None:
            return None
        event = sse.event(self.event, model, event_id=str(thing.version))
        return Shown(thing.version, thing.project_id, self.is_over(thing.state), sse.Frame(event))

    @contextmanager
    def _following(self, thing_id: str, follower: Follower) -> Iterator[tuple[Subject, Reader]]:
        subject = self._subjects.setdefault(thing_id, Subject())
        reader = Reader(follower)

        def may_go_on(who: UserIdentity) -> bool:
            return subject.shown is None or rights.can_see_project(who, subject.shown.project_id)

        follower.may_go_on = may_go_on
        subject.readers.add(reader)
        try:
            yield subject, reader
        finally:
            subject.readers.discard(reader)
            if not subject.readers:
                self._subjects.pop(thing_id, None)
