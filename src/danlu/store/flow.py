"""The data flow in SQL: nodes become known, are connected, and stay when the thing they stand for is deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import exists, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from danlu.spec.flow import NodeKind, NodeRef, Relation
from danlu.store.flow_paths import above, forms, is_below
from danlu.store.flow_tables import FlowEdgeRow, FlowNodeRow
from danlu.store.flow_walk import Neighbourhood, neighbourhood_of

MAX_LABEL_CHARS = 300
MAX_RELATED = 1000
"""With how many paths above and below it a path in the store is connected."""


def node(session: Session, ref: NodeRef, *, project_id: int, label: str, at: datetime) -> None:
    """Make a node known, or refresh what is known of it. One that was buried lives again."""
    row = find(session, ref)
    if row is None:
        row = FlowNodeRow(kind=ref.kind.value, key=ref.key, project_id=project_id, label="", created_at=at)
        session.add(row)
    row.project_id, row.label, row.deleted_at = project_id, label[:MAX_LABEL_CHARS], None
    session.flush()


def rename(session: Session, ref: NodeRef, label: str) -> None:
    """Quiet when it is not known; what is buried stays so."""
    row = find(session, ref)
    if row is not None:
        row.label = label[:MAX_LABEL_CHARS]


def connect(session: Session, source: NodeRef, target: NodeRef, relation: str, at: datetime) -> None:
    """Say that data goes from one known node to another. Quiet when that is known.

    Where one path of the store is written and another one, above or below it, is read, both are connected as well.
    """
    here, there = _known(session, source), _known(session, target)
    _add_edge(session, here.number, there.number, relation, at)
    if source.kind is NodeKind.STORE:
        for written in _related(session, here, FlowEdgeRow.target):
            _add_edge(session, written, here.number, Relation.PART, at)
    if target.kind is NodeKind.STORE:
        for read in _related(session, there, FlowEdgeRow.source):
            _add_edge(session, there.number, read, Relation.PART, at)


def bury(session: Session, ref: NodeRef, at: datetime) -> None:
    """Note that the thing is deleted; its label and edges stay. Quiet when it is not known, or buried."""
    row = find(session, ref)
    if row is not None and row.deleted_at is None:
        row.deleted_at = at
        session.flush()


def bury_many(session: Session, kind: NodeKind, keys: Sequence[str], at: datetime) -> None:
    """The same for many nodes of one kind, which are not paths in the store."""
    for first in range(0, len(keys), 500):
        known = (FlowNodeRow.kind == kind.value, FlowNodeRow.key.in_(keys[first : first + 500]))
        session.execute(update(FlowNodeRow).where(*known, FlowNodeRow.deleted_at.is_(None)).values(deleted_at=at))


def find(session: Session, ref: NodeRef) -> FlowNodeRow | None:
    """The node of that name. A folder of the store is found with and without the slash at its end."""
    written = forms(ref.key) if ref.kind is NodeKind.STORE else [ref.key]
    query = select(FlowNodeRow).where(FlowNodeRow.kind == ref.kind.value, FlowNodeRow.key.in_(written))
    return session.scalar(query.order_by(FlowNodeRow.number).limit(1))


def is_connected(session: Session, source: NodeRef, target: NodeRef) -> bool:
    """Whether data is known to go from the one to the other, and the other is there."""
    here, there = find(session, source), find(session, target)
    if here is None or there is None or there.deleted_at is not None:
        return False
    query = select(FlowEdgeRow.relation).where(FlowEdgeRow.source == here.number, FlowEdgeRow.target == there.number)
    return session.scalar(query.limit(1)) is not None


def move_bucket(session: Session, bucket: str, project_id: int) -> None:
    """The paths of a bucket belong to another project from now on."""
    of_bucket = (FlowNodeRow.kind == NodeKind.STORE.value, is_below(f"{bucket}/"))
    session.execute(update(FlowNodeRow).where(*of_bucket).values(project_id=project_id))


def neighbourhood(
    session: Session,
    ref: NodeRef,
    *,
    direction: str,
    depth: int,
    limit: int,
    after: int = 0,
    project_ids: Sequence[int] | None = None,
) -> Neighbourhood | None:
    """What a node comes from and what became of it, `limit` nodes from the `after`-th on, the nearest first.

    None when the node is not known, or belongs to a project that is not among `project_ids` (None: all are).
    """
    root = find(session, ref)
    if root is None or (project_ids is not None and root.project_id not in project_ids):
        return None
    return neighbourhood_of(
        session, root.number, direction=direction, depth=depth, limit=limit, after=after, project_ids=project_ids
    )


def _known(session: Session, ref: NodeRef) -> FlowNodeRow:
    row = find(session, ref)
    if row is None:
        raise LookupError(f"{ref} is not a known node; call node() before connect()")
    return row


def _add_edge(session: Session, source: int, target: int, relation: str, at: datetime) -> None:
    # writers take turns, so nobody adds the same one in between
    if session.get(FlowEdgeRow, (source, target, str(relation))) is None:
        session.add(FlowEdgeRow(source=source, target=target, relation=str(relation), created_at=at))
        session.flush()


def _related(session: Session, row: FlowNodeRow, end: InstrumentedAttribute[int]) -> Sequence[int]:
    """Paths above and below this one that something reads (`end` is the source of edges) or writes (the target)."""
    is_used = exists().where(end == FlowNodeRow.number, FlowEdgeRow.relation != Relation.PART.value)
    query = select(FlowNodeRow.number).where(
        FlowNodeRow.kind == NodeKind.STORE.value,
        FlowNodeRow.number != row.number,
        or_(FlowNodeRow.key.in_(above(row.key)), is_below(f"{row.key.rstrip('/')}/")),
        is_used,
    )
    return session.scalars(query.order_by(FlowNodeRow.number).limit(MAX_RELATED)).all()
