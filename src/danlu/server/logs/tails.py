"""The ends of logs that are followed: each is read once for all of its followers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.server import sse
from danlu.server.logs.pattern import Pattern
from danlu.server.logs.reading import (
    HOLD_SECONDS,
    LogKey,
    LogText,
    RankLog,
    event_of,
)
from danlu.server.logs.service import LogPlace, LogStatus, statuses
from danlu.server.streams.follower import Follower
from danlu.server.streams.hub import Hub
from danlu.server.streams.poller import Board, Pace
from danlu.wire.logs import LogEnd

KEPT_BYTES = 1 << 20
"""How much of a log's end is kept for followers that are slightly behind. Others read the store."""

TAIL_BYTES = 1 << 20
LOOK_BYTES = 8 << 20
"""`TAIL_BYTES`: read of one log in one look; `LOOK_BYTES`: of all logs together."""


@dataclass(frozen=True, slots=True)
class Piece:
    text: LogText
    frame: sse.Frame


@dataclass
class Tail:
    """The end of one rank's log."""

    position: int | None = None
    """Up to here it was sent; None before the first look."""

    held_since: float | None = None
    """When the unfinished line at its end was first seen."""

    num_readers: int = 0
    _kept: deque[Piece] = field(default_factory=deque)
    _by_offset: dict[int, Piece] = field(default_factory=dict)
    _size: int = 0

    def extend(self, news: TailNews) -> None:
        self.position, self.held_since = news.position, news.held_since
        for piece in news.pieces:
            self._kept.append(piece)
            self._by_offset[piece.text.offset] = piece
            self._size += len(piece.frame.plain)
        while self._size > KEPT_BYTES and self._kept:
            old = self._kept.popleft()
            del self._by_offset[old.text.offset]
            self._size -= len(old.frame.plain)

    def at(self, offset: int) -> Piece | None:
        return self._by_offset.get(offset)


@dataclass(frozen=True, slots=True)
class TailNews:
    position: int
    held_since: float | None
    pieces: Sequence[Piece] = ()


@dataclass(eq=False)
class Reader:
    follower: Follower
    offsets: dict[int, int]
    """Rank -> offset up to which it was sent."""

    pattern: Pattern | None


@dataclass
class Subject:
    """The logs of an attempt that are followed."""

    status: LogStatus | None = None
    """None before the first look, and when the job was deleted."""

    readers: set[Reader] = field(default_factory=set)
    tails: dict[int, Tail] = field(default_factory=dict)

    def is_told(self, reader: Reader) -> bool:
        """Whether a reader has received everything, and the logs are complete."""
        status = self.status
        return (
            status is not None
            and status.is_over
            and all(offset >= status.lengths.get(rank, 0) for rank, offset in reader.offsets.items())
        )


class Stand(NamedTuple):
    """The common position of a log's followers."""

    position: int | None
    held_since: float | None


Wanted = Mapping[LogKey, Mapping[int, Stand]]
"""By attempt and rank."""


@dataclass(frozen=True)
class Found:
    statuses: Mapping[LogKey, LogStatus | None]
    tails: Mapping[LogKey, Mapping[int, TailNews]]
    has_more: bool


class FollowedLogs(Board[Wanted, Found]):
    pace = Pace(usual_seconds=0.25, least_seconds=0.1, most_seconds=0.25)

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._subjects: dict[LogKey, Subject] = {}
        self._num_looks = 0

    async def tell(
        self, hub: Hub, follower: Follower, place: LogPlace, pattern: Pattern | None
    ) -> AsyncGenerator[bytes, None]:
        """Lines from the follower's offsets on, as they are written, then the end. Nothing when the job was deleted."""
        key, reader = place.key, Reader(follower, dict(place.offsets), pattern)
        subject = self._join(key, reader)
        try:
            yield sse.KEEP_ALIVE.plain  # shows that the stream is open: the first line may take long
            await self.poller.fresh()
            while not follower.is_ended and (status := subject.status) is not None:
                if key.attempt == 0 and status.newest_attempt > 0:  # the first attempt has begun
                    self._leave(key, subject, reader)
                    key = LogKey(key.job_id, 1)
                    subject = self._join(key, reader)
                    await self.poller.fresh()
                    continue
                behind = [rank for rank, offset in reader.offsets.items() if offset < _position(subject, rank)]
                for rank in behind:
                    piece = await self._next(hub, key, subject, reader, rank)
                    if piece:
                        yield piece
                if not behind and subject.is_told(reader):
                    yield sse.event("end", LogEnd(attempt=key.attempt, state=status.job_state))
                    return
                if not behind:
                    await follower.wait()
        finally:
            self._leave(key, subject, reader)

    @property
    def is_followed(self) -> bool:
        return bool(self._subjects)

    def wanted(self) -> Wanted:
        """In rotating order: when there is more than one look may read, each log comes first in turn."""
        self._num_looks += 1
        keys = list(self._subjects)
        first = self._num_looks % len(keys) if keys else 0
        return {
            key: {rank: Stand(tail.position, tail.held_since) for rank, tail in self._subjects[key].tails.items()}
            for key in keys[first:] + keys[:first]
        }

    def look(self, wanted: Wanted) -> Found:
        with self.state.database.reading() as session:
            found = statuses(session, list(wanted))
        left, has_more, now = LOOK_BYTES, False, time.monotonic()
        tails: dict[LogKey, dict[int, TailNews]] = {}
        for key, ranks in wanted.items():
            if key not in found:
                continue
            tails[key] = {}
            for rank, stand in ranks.items():
                if left <= 0 and stand.position is not None:
                    has_more = True
                    continue
                news = read_tail(RankLog(self.state.logs, key, rank), found[key], stand=stand, now=now)
                left -= sum(piece.text.next_offset - piece.text.offset for piece in news.pieces)
                has_more = has_more or (bool(news.pieces) and news.position < found[key].lengths.get(rank, 0))
                tails[key][rank] = news
        return Found({key: found.get(key) for key in wanted}, tails, has_more)

    def take(self, found: Found) -> bool:
        for key, status in found.statuses.items():
            subject = self._subjects.get(key)
            if subject is None:
                continue
            subject.status = status
            fresh: dict[int, Sequence[Piece]] = {}
            for rank, news in found.tails.get(key, {}).items():
                tail = subject.tails.get(rank)
                if tail is not None:
                    tail.extend(news)
                    if news.pieces:
                        fresh[rank] = news.pieces
            has_begun = key.attempt == 0 and status is not None and status.newest_attempt > 0
            _tell_all(subject, fresh, wakes_all=status is None or status.is_over or has_begun)
        return found.has_more

    async def _next(self, hub: Hub, key: LogKey, subject: Subject, reader: Reader, rank: int) -> bytes:
        """The next event for a reader that is behind; empty when no line matches."""
        offset, position = reader.offsets[rank], _position(subject, rank)
        piece = subject.tails[rank].at(offset)
        if piece is not None and reader.pattern is None:
            reader.offsets[rank] = piece.text.next_offset
            return piece.frame.plain
        text, event = await hub.read(
            reader.follower,
            RankLog(self.state.logs, key, rank).next_event,
            offset,
            end=position,
            known=None if piece is None else piece.text,
            pattern=reader.pattern,
        )
        reader.offsets[rank] = position if text is None else text.next_offset
        return event

    def _join(self, key: LogKey, reader: Reader) -> Subject:
        subject = self._subjects.setdefault(key, Subject())
        subject.readers.add(reader)
        for rank in reader.offsets:
            subject.tails.setdefault(rank, Tail()).num_readers += 1

        def may_go_on(who: UserIdentity) -> bool:
            return subject.status is None or rights.can_see_project(who, subject.status.project_id)

        reader.follower.may_go_on = may_go_on
        return subject

    def _leave(self, key: LogKey, subject: Subject, reader: Reader) -> None:
        if reader not in subject.readers:
            return
        subject.readers.discard(reader)
        for rank in reader.offsets:
            subject.tails[rank].num_readers -= 1
            if not subject.tails[rank].num_readers:
                del subject.tails[rank]
        if not subject.readers:
            del self._subjects[key]


def read_tail(log: RankLog, status: LogStatus, *, stand: Stand, now: float) -> TailNews:
    """Read from the common position of a log's followers."""
    length = status.lengths.get(log.rank, 0)
    is_complete = status.is_over or log.rank in status.ended
    position, held_since = stand
    if position is None:
        position = length if is_complete else log.line_begin(length)
    pieces: list[Piece] = []
    begin = position
    while position < length and position - begin < TAIL_BYTES:
        may_wait = not is_complete and (held_since is None or now - held_since < HOLD_SECONDS)
        text = log.read_text(position, end=length, may_wait=may_wait)
        if text is None and may_wait:
            return TailNews(position, held_since or now, pieces)
        held_since = None
        if text is None:  # removed meanwhile
            return TailNews(length, None, pieces)
        pieces.append(Piece(text, sse.Frame(event_of(log.key, text))))
        position = text.next_offset
    return TailNews(position, None, pieces)


def _tell_all(subject: Subject, fresh: Mapping[int, Sequence[Piece]], *, wakes_all: bool) -> None:
    """Send one shared frame to readers of the same logs that are at the same position; wake all others."""
    frames: dict[tuple[int, ...], sse.Frame] = {}
    for reader in subject.readers:
        mine = tuple(rank for rank in fresh if rank in reader.offsets)
        if not mine:
            if wakes_all:
                reader.follower.wake()
            continue
        is_in_step = all(reader.offsets[rank] == fresh[rank][0].text.offset for rank in mine)
        if wakes_all or not is_in_step or reader.pattern is not None:
            reader.follower.wake()
            continue
        frame = frames.get(mine)
        if frame is None:
            frame = frames[mine] = _joined([piece.frame for rank in mine for piece in fresh[rank]])
        if not reader.follower.say(frame):
            reader.follower.wake()
            continue
        for rank in mine:
            reader.offsets[rank] = _position(subject, rank)


def _joined(frames: Sequence[sse.Frame]) -> sse.Frame:
    return frames[0] if len(frames) == 1 else sse.Frame(b"".join(frame.plain for frame in frames))


def _position(subject: Subject, rank: int) -> int:
    return subject.tails[rank].position or 0
