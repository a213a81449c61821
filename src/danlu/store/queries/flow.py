"""The data flow in SQL: nodes and edges. They stay when the objects are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import exists, func, insert, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from danlu.spec.flow import NodeKind, NodeRef, Relation
from danlu.store.queries.flow_paths import above, forms, is_below
from danlu.store.queries.flow_walk import Neighbourhood, Reach, neighbourhood_of
from danlu.store.sql.flow_tables import FlowEdgeRow, FlowNodeRow

MAX_LABEL_CHARS = 300
_NODES = "flow nodes"
MAX_RELATED = 1000
"""Maximum number of paths below a store path that it is connected to."""


def node(session: Session, ref: NodeRef, *, project_id: int, label: str, at: datetime) -> None:
    """Create or update a node. A deleted one is restored."""
    row = find(session, ref)
    if row is None:
        add_node(session, ref, project_id=project_id, label=label, at=at)
        return
    known = (project_id, label[:MAX_LABEL_CHARS], None)
    if (row.project_id, row.label, row.deleted_at) != known:
        row.project_id, row.label, row.deleted_at = known
        session.flush()


def add_node(session: Session, ref: NodeRef, *, project_id: int, label: str, at: datetime) -> None:
    """Insert a node that cannot exist yet, without a lookup: submissions are frequent."""
    row = FlowNodeRow(
        kind=ref.kind.value, key=ref.key, project_id=project_id, label=label[:MAX_LABEL_CHARS], created_at=at
    )
    session.add(row)
    _remember(session, ref, row)


def rename(session: Session, ref: NodeRef, label: str) -> None:
    """Change the label of a node. No-op for an unknown node; a deleted one stays deleted."""
    row = find(session, ref)
    if row is not None:
        row.label = label[:MAX_LABEL_CHARS]


def connect(session: Session, source: NodeRef, target: NodeRef, relation: str, at: datetime) -> None:
    """Add an edge between two known nodes. Idempotent.

    A store path that is read for the first time is also connected with written paths that contain it or that it
    contains, and the reverse.
    """
    here, there = _known(session, source), _known(session, target)
    session.flush()  # assigns the numbers of new nodes
    # a path with earlier edges is already connected; later paths connect to it
    is_first_read = source.kind is NodeKind.STORE and not _is_used(session, here, FlowEdgeRow.source)
    is_first_write = target.kind is NodeKind.STORE and not _is_used(session, there, FlowEdgeRow.target)
    _add_edge(session, here.number, there.number, relation, at)
    if is_first_read:
        _add_parts(session, here, at, is_read=True)
    if is_first_write:
        _add_parts(session, there, at, is_read=False)


def bury(session: Session, ref: NodeRef, at: datetime) -> None:
    """Mark a node as deleted; its label and edges stay. Idempotent."""
    row = find(session, ref)
    if row is not None and row.deleted_at is None:
        row.deleted_at = at
        session.flush()


def bury_many(session: Session, kind: NodeKind, keys: Sequence[str], at: datetime) -> None:
    """Mark many nodes of one kind as deleted; not for store paths."""
    for first in range(0, len(keys), 500):
        known = (FlowNodeRow.kind == kind.value, FlowNodeRow.key.in_(keys[first : first + 500]))
        session.execute(update(FlowNodeRow).where(*known, FlowNodeRow.deleted_at.is_(None)).values(deleted_at=at))


def find(session: Session, ref: NodeRef) -> FlowNodeRow | None:
    """Find a node. A store folder is found with or without its final slash."""
    remembered: dict[NodeRef, FlowNodeRow] = session.info.get(_NODES, {})
    if ref in remembered:
        return remembered[ref]
    written = forms(ref.key) if ref.kind is NodeKind.STORE else [ref.key]
    query = select(FlowNodeRow).where(FlowNodeRow.kind == ref.kind.value, FlowNodeRow.key.in_(written))
    row = session.scalar(query.order_by(FlowNodeRow.number).limit(1))
    if row is not None:
        _remember(session, ref, row)
    return row


def nodes_of(session: Session, texts: Sequence[str]) -> dict[str, FlowNodeRow]:
    """`kind:key` -> node, for existing nodes."""
    by_kind: dict[str, list[str]] = {}
    for text in texts:
        kind, _, key = text.partition(":")
        by_kind.setdefault(kind, []).append(key)
    found: dict[str, FlowNodeRow] = {}
    for kind, keys in by_kind.items():
        for first in range(0, len(keys), 500):
            query = select(FlowNodeRow).where(FlowNodeRow.kind == kind, FlowNodeRow.key.in_(keys[first : first + 500]))
            found.update({f"{kind}:{row.key}": row for row in session.scalars(query)})
    return found


def is_connected(session: Session, source: NodeRef, target: NodeRef) -> bool:
    """Whether an edge exists between them and the target is not deleted."""
    here, there = find(session, source), find(session, target)
    if here is None or there is None or there.deleted_at is not None:
        return False
    query = select(FlowEdgeRow.relation).where(FlowEdgeRow.source == here.number, FlowEdgeRow.target == there.number)
    return session.scalar(query.limit(1)) is not None


def move_bucket(session: Session, bucket: str, project_id: int) -> None:
    """Move the paths of a bucket to another project."""
    of_bucket = (FlowNodeRow.kind == NodeKind.STORE.value, is_below(f"{bucket}/"))
    session.execute(update(FlowNodeRow).where(*of_bucket).values(project_id=project_id))


def retire_bucket(session: Session, bucket: str, bucket_id: str) -> None:
    """Rename the paths of a deleted bucket to its id, so that a later bucket of the same name does not share them."""
    of_bucket = (FlowNodeRow.kind == NodeKind.STORE.value, or_(FlowNodeRow.key == bucket, is_below(f"{bucket}/")))
    key = f"{bucket}@{bucket_id}" + func.substr(FlowNodeRow.key, len(bucket) + 1)
    session.execute(
        update(FlowNodeRow).where(*of_bucket).values(key=key), execution_options={"synchronize_session": False}
    )
    session.info.pop(_NODES, None)
    session.expire_all()


def neighbourhood(
    session: Session, ref: NodeRef, reach: Reach, *, project_ids: Sequence[int] | None = None
) -> Neighbourhood | None:
    """Upstream and downstream of a node, nearest first.

    None if the node is unknown or its project is not in `project_ids` (None: all).
    """
    root = find(session, ref)
    if root is None or (project_ids is not None and root.project_id not in project_ids):
        return None
    return neighbourhood_of(session, root.number, reach, project_ids=project_ids)


def _remember(session: Session, ref: NodeRef, row: FlowNodeRow) -> None:
    """Cache a node for this session: one change needs the same nodes several times, and nodes are never removed."""
    session.info.setdefault(_NODES, {})[ref] = row


def _is_used(session: Session, row: FlowNodeRow, end: InstrumentedAttribute[int]) -> bool:
    query = select(FlowEdgeRow.source).where(end == row.number, FlowEdgeRow.relation != Relation.PART.value)
    return session.scalar(query.limit(1)) is not None


def _known(session: Session, ref: NodeRef) -> FlowNodeRow:
    row = find(session, ref)
    if row is None:
        raise LookupError(f"{ref} is not a known node; call node() before connect()")
    return row


def _add_edge(session: Session, source: int, target: int, relation: str, at: datetime) -> None:
    # writers are serialized, so no other writer inserts the same row in between
    if session.get(FlowEdgeRow, (source, target, str(relation))) is None:
        session.add(FlowEdgeRow(source=source, target=target, relation=str(relation), created_at=at))
        session.flush()


def _add_parts(session: Session, row: FlowNodeRow, at: datetime, *, is_read: bool) -> None:
    """Connect a path that is read with paths that are written, or the reverse."""
    here, there = (FlowEdgeRow.target, FlowEdgeRow.source) if is_read else (FlowEdgeRow.source, FlowEdgeRow.target)
    related = _related(session, row, here)
    if not related:
        return
    query = select(there).where(here == row.number, FlowEdgeRow.relation == Relation.PART.value)
    known = set(session.scalars(query))
    edge = {"relation": Relation.PART.value, "created_at": at, here.key: row.number}
    new = [{**edge, there.key: number} for number in related if number not in known]
    if new:
        session.execute(insert(FlowEdgeRow), new)


def _related(session: Session, row: FlowNodeRow, end: InstrumentedAttribute[int]) -> Sequence[int]:
    """Paths above and below this one that are read (`end` is the source of edges) or written (the target)."""
    is_used = exists().where(end == FlowNodeRow.number, FlowEdgeRow.relation != Relation.PART.value)
    query = select(FlowNodeRow.number).where(FlowNodeRow.kind == NodeKind.STORE.value, is_used)
    # two index queries: one combined query would scan all paths
    higher = session.scalars(query.where(FlowNodeRow.key.in_(above(row.key))))
    lower = query.where(is_below(f"{row.key.rstrip('/')}/")).order_by(FlowNodeRow.key).limit(MAX_RELATED)
    return [number for number in (*higher, *session.scalars(lower)) if number != row.number]
