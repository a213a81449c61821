"""Nodes in SQL: the last report of each engine, and drains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from danlu.store.sql.database import num_changed
from danlu.store.sql.node_tables import DrainRow
from danlu.store.sql.tables import FactRow, NodeRow

NODES = "nodes"
"""Name of a fact whose value changes with every report that differs from the last one."""


def list_nodes(session: Session) -> Sequence[NodeRow]:
    return session.scalars(select(NodeRow).order_by(NodeRow.name)).all()


def mark(session: Session) -> str | None:
    """A value that changes when any server stores a report that differs; None before the first report."""
    return session.scalar(select(FactRow.value).where(FactRow.name == NODES))


class Report(NamedTuple):
    """The last report of a node."""

    name: str
    info: dict[str, Any]
    is_reachable: bool


def reports(session: Session) -> list[Report]:
    query = select(NodeRow.name, NodeRow.info, NodeRow.is_reachable).order_by(NodeRow.name)
    return [Report(*row) for row in session.execute(query)]


def save_nodes(session: Session, engine: str, infos: Mapping[str, dict[str, Any]], at: datetime) -> None:
    """Store an engine's report; its other nodes become unreachable. Rows that did not change are not written."""
    known = {row.name: row for row in list_nodes(session)}
    for name, info in infos.items():
        row = known.pop(name, None)
        if row is None:
            session.add(NodeRow(name=name, engine=engine, info=info, is_reachable=True, seen_at=at))
        elif (row.engine, row.is_reachable, row.info) != (engine, True, info):
            row.engine, row.is_reachable, row.info = engine, True, info
    for row in known.values():
        if row.engine == engine and row.is_reachable:
            row.is_reachable = False
    if session.new or session.dirty:
        session.merge(FactRow(name=NODES, value=uuid4().hex))
    session.flush()
    touch_nodes(session, engine, at)


def touch_nodes(session: Session, engine: str, at: datetime) -> int:
    """Update the report time of an engine's reachable nodes, which did not change; return how many there are."""
    statement = update(NodeRow).where(NodeRow.engine == engine, NodeRow.is_reachable)
    return num_changed(session, statement.values(seen_at=at))


def drains(session: Session) -> dict[str, DrainRow]:
    """Node -> its drain; other nodes are not drained."""
    return {row.node: row for row in session.scalars(select(DrainRow).order_by(DrainRow.node))}


def drain(session: Session, row: DrainRow) -> None:
    """Drain a node, or change the reason of a drained one."""
    session.merge(row)
    session.flush()


def open_again(session: Session, name: str) -> bool:
    """End the drain of a node; return whether it was drained."""
    found = session.get(DrainRow, name)
    if found is None:
        return False
    session.execute(delete(DrainRow).where(DrainRow.node == name))
    return True
