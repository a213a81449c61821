"""Read points from packs and from the ends of journals; from thin columns where these suffice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from danlu.spec.runs import SYSTEM
from danlu.store.metrics.decode import Layouts, SeriesKey, Stretch, decode
from danlu.store.metrics.ingest import layouts_of
from danlu.store.metrics.journals import Journals, journals_of
from danlu.store.metrics.packs import Packs, Placed
from danlu.store.metrics.points import EMPTY, Axis, Points, downsample, join
from danlu.store.queries.runs import branches_of
from danlu.store.sql.run_tables import ChunkRow, RunRow, SeriesRow

TAIL_BYTES = 64 << 20
"""Size limit of the cache of decoded journal ends."""

MOST_PIECES = 64
NO_LIMIT = 1 << 63


@dataclass(frozen=True, slots=True)
class Lines:
    """A series for display: the main line, and points that newer branches supersede."""

    main: Points
    hidden: dict[int, Points] = field(default_factory=dict)
    """Branch -> its superseded points."""

    num_points: int = 0
    """Number of points of the main line before downsampling."""


@dataclass(frozen=True)
class _Journal:
    """A journal as it was when its run was opened."""

    name: str
    offset: int
    built: int
    built_branch: int
    layouts: Layouts


@dataclass(frozen=True)
class OpenedRun:
    """Data of a run that is read once for all of its series."""

    run_id: str
    journals: tuple[_Journal, ...]
    limits: Mapping[int, int]
    """Branch -> smallest first step of newer branches with points."""


@dataclass(frozen=True)
class FoundSeries:
    """A series, and where its points in packs are."""

    series: SeriesRow
    chunks: tuple[ChunkRow, ...]


@dataclass(frozen=True)
class _Piece:
    """Points of one branch, read on demand."""

    branch: int
    low_step: int
    high_step: int
    num_points: int
    num_thin: int
    points: Points | None
    chunk: ChunkRow | None


class Reader:
    """Reads series; caches decoded ends of journals."""

    def __init__(self, journals: Journals, packs: Packs) -> None:
        self._journals = journals
        self._packs = packs
        self._tails: OrderedDict[tuple[str, str, int], list[Stretch]] = OrderedDict()
        self._lock = threading.Lock()

    def open_run(self, session: Session, run: RunRow) -> OpenedRun:
        """Read what `find` needs. Journals and packs of an opened run keep their bytes, so no session is needed to read
        them."""
        found = [
            _Journal(row.name, row.offset, row.built, row.built_branch, layouts_of(row))
            for row in journals_of(session, run.number)
        ]
        return OpenedRun(run.id, tuple(found), _limits(session, run.number))

    def find(self, session: Session, run: OpenedRun, some: Sequence[SeriesRow]) -> list[FoundSeries]:
        """Read where the points of these series are, as of when the run was opened. No files are read."""
        built = {row.name: row.built for row in run.journals}
        found: dict[int, list[ChunkRow]] = {series.id: [] for series in some}
        for chunk in session.scalars(select(ChunkRow).where(ChunkRow.series.in_(found))):
            # points of a pack that was built after the run was opened are read from the journal's end
            if chunk.start < built.get(chunk.journal, NO_LIMIT):
                found[chunk.series].append(chunk)
        return [FoundSeries(series, tuple(found[series.id])) for series in some]

    def lines(self, run: OpenedRun, found: FoundSeries, *, axis: Axis, max_points: int, with_hidden: bool) -> Lines:
        """One series with at most `max_points` points per line; extremes are kept. Reads files."""
        series = found.series
        (pieces,) = self._pieces(run, [found])
        limits = run.limits if series.type != SYSTEM else {}
        # each block of 64 has its extremes among the thin points: with two per shown point, none is lost
        is_thin = sum(piece.num_thin for piece in pieces) >= 2 * max_points
        main: list[Points] = []
        hidden: dict[int, list[Points]] = {}
        num_points = 0
        for piece in pieces:
            limit = limits.get(piece.branch, NO_LIMIT)
            if piece.high_step < limit:
                main.append(self._read(run.run_id, piece, is_thin=is_thin))
                num_points += piece.num_points
                continue
            full = self._read(run.run_id, piece, is_thin=False)
            is_shown = full.steps < limit
            main.append(full.take(is_shown))
            num_points += len(main[-1])
            hidden.setdefault(piece.branch, []).append(full.take(~is_shown))
        shown = {branch: downsample(join(parts), max_points, axis) for branch, parts in hidden.items()}
        return Lines(downsample(join(main), max_points, axis), shown if with_hidden else {}, num_points)

    def all_points(
        self, run: OpenedRun, some: Sequence[FoundSeries]
    ) -> Iterator[tuple[SeriesRow, int, Points, np.ndarray]]:
        """Yield all points of series in logged order: series, branch, points, and which of them a newer branch
        supersedes. Reads files, one piece after another."""
        for found, pieces in zip(some, self._pieces(run, some), strict=True):
            limits = run.limits if found.series.type != SYSTEM else {}
            for piece in pieces:
                full = self._read(run.run_id, piece, is_thin=False)
                yield found.series, piece.branch, full, full.steps >= limits.get(piece.branch, NO_LIMIT)

    def _pieces(self, run: OpenedRun, some: Sequence[FoundSeries]) -> list[list[_Piece]]:
        """Points of all journals, by branch, in logged order, for each series."""
        order = {row.name: number for number, row in enumerate(run.journals)}
        placed: list[list[tuple[tuple[int, int, int], _Piece]]] = [
            [((chunk.branch, order.get(chunk.journal, 0), chunk.start), _of_chunk(chunk)) for chunk in found.chunks]
            for found in some
        ]
        for row in run.journals:
            for number, stretch in enumerate(self._tail(row, run.run_id)):
                for found, pieces in zip(some, placed, strict=True):
                    key = SeriesKey(found.series.type, found.series.name)
                    for branch, points in stretch.by_series.get(key, ()):
                        pieces.append(((branch, order[row.name], row.built + number), _of_tail(branch, points)))
        return [[piece for _, piece in sorted(pieces, key=lambda item: item[0])] for pieces in placed]

    def _read(self, run_id: str, piece: _Piece, *, is_thin: bool) -> Points:
        if piece.points is not None:
            return piece.points
        chunk = piece.chunk
        if chunk is None:
            return EMPTY
        placed = Placed(chunk.at, chunk.num_thin, chunk.num_points)
        return self._packs.read(run_id, chunk.journal, chunk.start, placed, is_thin=is_thin)

    def _tail(self, journal: _Journal, run_id: str) -> Sequence[Stretch]:
        """Decoded end of a journal that is not in packs; decodes only new bytes."""
        if journal.offset <= journal.built:
            return ()
        # by the run's id: SQLite reuses numbers of purged runs
        key = (run_id, journal.name, journal.built)
        with self._lock:
            known = list(self._tails.get(key, ()))
        if len(known) >= MOST_PIECES:
            known = []  # many small arrays are slow to join
        end = known[-1].end if known else journal.built
        if end < journal.offset:
            layouts = known[-1].layouts if known else journal.layouts
            branch = known[-1].branch if known else journal.built_branch
            data = self._journals.read(run_id, journal.name, end, journal.offset)
            known.append(decode(data, end, layouts, branch))
            with self._lock:
                self._tails[key] = known
                self._tails.move_to_end(key)
                while len(self._tails) > 1 and _size(self._tails) > TAIL_BYTES:
                    self._tails.popitem(last=False)
        return known


def _size(tails: Mapping[tuple[str, str, int], list[Stretch]]) -> int:
    return sum(pieces[-1].end - built for (_, _, built), pieces in tails.items())


def _limits(session: Session, run: int) -> dict[int, int]:
    """Branch -> smallest first step of newer branches with points."""
    limits: dict[int, int] = {}
    smallest = NO_LIMIT
    for branch, begin in sorted(branches_of(session, run).items(), reverse=True):
        limits[branch] = smallest
        smallest = min(smallest, NO_LIMIT if begin is None else begin)
    return limits


def _of_chunk(chunk: ChunkRow) -> _Piece:
    return _Piece(chunk.branch, chunk.low_step, chunk.high_step, chunk.num_points, chunk.num_thin, None, chunk)


def _of_tail(branch: int, points: Points) -> _Piece:
    low, high = int(points.steps.min()), int(points.steps.max())
    return _Piece(branch, low, high, len(points), len(points), points, None)
