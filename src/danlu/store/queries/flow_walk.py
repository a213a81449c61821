"""Breadth-first walk of the data flow, upstream and downstream.

Nodes are ordered by distance, then by number. Only as much of a level is read as the page needs, so a data set with
100,000 downstream nodes costs no more than one with 1,000. Edges are read by target: nodes have few sources, but may
have many targets.

Nodes of other projects are shown without a name, with their visible neighbours; edges between two hidden nodes are not
shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ARRAY, BigInteger, ColumnElement, any_, bindparam, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from danlu.spec.flow import Direction
from danlu.store.sql.flow_tables import FlowEdgeRow, FlowNodeRow

CHUNK = 500


class FoundNode(NamedTuple):
    number: int
    kind: str
    key: str
    label: str
    project_id: int | None
    created_at: datetime
    deleted_at: datetime | None
    distance: int
    """Steps from the requested node; negative upstream."""

    is_hidden: bool


class FoundEdge(NamedTuple):
    source: int
    target: int
    relation: str


@dataclass(frozen=True, slots=True)
class Reach:
    """Depth and page of a walk: `limit` nodes from number `after` on."""

    direction: str
    depth: int
    limit: int
    after: int = 0


@dataclass(frozen=True)
class Neighbourhood:
    nodes: list[FoundNode]
    edges: list[FoundEdge]
    """Edges between a node of this page and one of this or an earlier page."""

    others: list[FoundNode]
    """Nodes of earlier pages at these edges."""

    next: int | None
    """Start of the next page; None on the last one."""


@dataclass
class _Walker:
    """One direction of a walk."""

    here: InstrumentedAttribute[int]
    there: InstrumentedAttribute[int]
    sign: int
    seen: set[int]
    visible: list[int]
    """Visible nodes of the last level; `hidden` has the others."""

    hidden: list[int] = field(default_factory=list)

    def next_level(self, session: Session, most: int, project_ids: Sequence[int] | None) -> list[int]:
        """Return the nodes of the next level, at most `most`."""
        limit = most + len(self.seen)
        found = self._neighbours(session, self.visible, limit, None)
        found |= self._neighbours(session, self.hidden, limit, project_ids)
        level = sorted(found - self.seen)[:most]
        self.seen.update(level)
        self.visible, self.hidden = _split(session, level, project_ids)
        return level

    def _neighbours(
        self, session: Session, numbers: Sequence[int], limit: int, project_ids: Sequence[int] | None
    ) -> set[int]:
        found: set[int] = set()
        for chunk in _chunks(numbers):
            query = select(self.there).where(_among(session, self.here, chunk)).distinct()
            if project_ids is not None:
                query = query.join(FlowNodeRow, FlowNodeRow.number == self.there)
                query = query.where(FlowNodeRow.project_id.in_(project_ids))
            found.update(session.scalars(query.order_by(self.there).limit(limit)))
        return found


def neighbourhood_of(session: Session, root: int, reach: Reach, *, project_ids: Sequence[int] | None) -> Neighbourhood:
    after, end = reach.after, reach.after + reach.limit
    distances = _walk(session, root, reach.direction, reach.depth, most=end + 1, project_ids=project_ids)
    order = list(distances)
    page, before = order[after:end], order[:after]
    rows = _rows(session, page, distances, project_ids)
    hidden = {found.number for found in rows if found.is_hidden}
    hidden.update(_split(session, before, project_ids)[1])
    edges = [edge for edge in _edges(session, before, page) if not {edge.source, edge.target} <= hidden]
    named = {end for edge in edges for end in (edge.source, edge.target)}.difference(page)
    others = _rows(session, sorted(named), distances, project_ids)
    return Neighbourhood(rows, edges, others, next=end if len(order) > end else None)


def _walk(
    session: Session, root: int, direction: str, depth: int, *, most: int, project_ids: Sequence[int] | None
) -> dict[int, int]:
    """Node -> distance, in page order; at most `most` nodes."""
    distances = {root: 0}
    walkers = list(_walkers(root, direction))
    for step in range(1, depth + 1):
        for walker in walkers:
            for number in walker.next_level(session, most, project_ids):
                distances.setdefault(number, walker.sign * step)
        if len(distances) >= most or not any(walker.visible or walker.hidden for walker in walkers):
            break
    return dict(list(distances.items())[:most])


def _walkers(root: int, direction: str) -> Iterator[_Walker]:
    if direction != Direction.DOWN.value:
        yield _Walker(FlowEdgeRow.target, FlowEdgeRow.source, -1, {root}, [root])
    if direction != Direction.UP.value:
        yield _Walker(FlowEdgeRow.source, FlowEdgeRow.target, 1, {root}, [root])


def _split(session: Session, numbers: Sequence[int], project_ids: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """Split nodes into visible and hidden ones."""
    if project_ids is None:
        return list(numbers), []
    seen: set[int] = set()
    for chunk in _chunks(numbers):
        query = select(FlowNodeRow.number).where(_among(session, FlowNodeRow.number, chunk))
        seen.update(session.scalars(query.where(FlowNodeRow.project_id.in_(project_ids))))
    return [number for number in numbers if number in seen], [number for number in numbers if number not in seen]


def _rows(
    session: Session, numbers: Sequence[int], distances: dict[int, int], project_ids: Sequence[int] | None
) -> list[FoundNode]:
    columns = [getattr(FlowNodeRow, name) for name in FoundNode._fields[:-2]]
    found: dict[int, FoundNode] = {}
    for chunk in _chunks(numbers):
        for row in session.execute(select(*columns).where(_among(session, FlowNodeRow.number, chunk))):
            is_hidden = project_ids is not None and row.project_id not in project_ids
            found[row.number] = FoundNode(**row._mapping, distance=distances[row.number], is_hidden=is_hidden)
    return [found[number] for number in numbers]


def _edges(session: Session, before: Sequence[int], page: Sequence[int]) -> Iterator[FoundEdge]:
    known, new = {*before, *page}, set(page)
    for chunk in _chunks([*before, *page]):
        query = select(FlowEdgeRow.source, FlowEdgeRow.target, FlowEdgeRow.relation)
        for source, target, relation in session.execute(query.where(_among(session, FlowEdgeRow.target, chunk))):
            if source in known and (source in new or target in new):
                yield FoundEdge(source, target, relation)


def _among(session: Session, column: InstrumentedAttribute[int], numbers: Sequence[int]) -> ColumnElement[bool]:
    """Whether a number is one of these. One array parameter on PostgreSQL, so that the plan is reused."""
    if session.get_bind().dialect.name != "postgresql":
        return column.in_(numbers)
    return column == any_(bindparam(None, list(numbers), type_=ARRAY(BigInteger)))


def _chunks(numbers: Sequence[int]) -> Iterable[Sequence[int]]:
    return (numbers[first : first + CHUNK] for first in range(0, len(numbers), CHUNK))
