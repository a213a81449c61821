"""Nodes in SQL: what the engines last said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from danlu.store.tables import NodeRow


def list_nodes(session: Session) -> Sequence[NodeRow]:
    return session.scalars(select(NodeRow).order_by(NodeRow.name)).all()


def save_nodes(session: Session, engine: str, infos: Mapping[str, dict[str, Any]], at: datetime) -> None:
    """Note what an engine sees now; its nodes that are not named any more cannot be reached."""
    for name, info in infos.items():
        session.merge(NodeRow(name=name, engine=engine, info=info, is_reachable=True, seen_at=at))
    session.execute(
        update(NodeRow).where(NodeRow.engine == engine, NodeRow.name.not_in(list(infos))).values(is_reachable=False)
    )
