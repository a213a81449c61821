"""What the data flow of a running server holds, read from its database."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from danlu.spec.flow import NodeRef
from danlu.store.queries import flow
from danlu.store.sql.database import Database, sqlite_url
from danlu.store.sql.flow_tables import FlowEdgeRow, FlowNodeRow


def edges_of(data_dir: Path, text: str) -> set[tuple[str, str, str]]:
    """The edges at a node: source, target, relation. None when it is not known."""
    database = Database(sqlite_url(data_dir / "server" / "danlu.db"))
    try:
        with database.reading() as session:
            node = flow.find(session, NodeRef.parse(text))
            if node is None:
                return set()
            here = (FlowEdgeRow.source == node.number) | (FlowEdgeRow.target == node.number)
            names = {row.number: f"{row.kind}:{row.key}" for row in session.scalars(select(FlowNodeRow))}
            return {
                (names[row.source], names[row.target], row.relation)
                for row in session.scalars(select(FlowEdgeRow).where(here))
            }
    finally:
        database.close()
