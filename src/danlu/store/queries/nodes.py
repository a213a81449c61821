"""Nodes in SQL: the last report of each engine, and drains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from danlu.store.sql.node_tables import DrainRow
from danlu.store.sql.tables import NodeRow


def list_nodes(session: Session) -> Sequence[NodeRow]:
    return session.scalars(select(NodeRow).order_by(NodeRow.name)).all()


def save_nodes(session: Session, engine: str, infos: Mapping[str, dict[str, Any]], at: datetime) -> None:
    """Store an engine's report; its other nodes become unreachable."""
    for name, info in infos.items():
        session.merge(NodeRow(name=name, engine=engine, info=info, is_reachable=True, seen_at=at))
    session.execute(
        update(NodeRow).where(NodeRow.engine == engine, NodeRow.name.not_in(list(infos))).values(is_reachable=False)
    )


def drains(session: Session) -> dict[str, DrainRow]:
    """Node -> its drain; other nodes are not drained."""
    return {row.node: row for row in session.scalars(select(DrainRow).order_by(DrainRow.node))}


def drain(session: Session, row: DrainRow) -> None:
    """Drain a node, or change the reason of a drained one."""
    session.merge(row)
    session.flush()


def open_again(session: Session, name: str) -> bool:
    """Return whether the node was drained."""
    found = session.get(DrainRow, name)
    if found is None:
        return False
    session.execute(delete(DrainRow).where(DrainRow.node == name))
    return True
