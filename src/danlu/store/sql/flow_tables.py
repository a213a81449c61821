"""The tables of the data flow: nodes, and edges between their numbers."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base

_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up by itself for INTEGER keys only
_Key = String(1000).with_variant(String(1000, collation="C"), "postgresql")
"""Compared byte by byte on both databases, so that what lies below a folder is one stretch of the index."""


class FlowNodeRow(Base):
    """Something that data flows through. It stays when the thing is deleted."""

    __tablename__ = "flow_nodes"
    __table_args__ = (UniqueConstraint("kind", "key"), Index("flow_nodes_by_project", "project_id"))

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    kind: Mapped[str] = mapped_column(String(12))
    key: Mapped[str] = mapped_column(_Key)
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="SET NULL"))
    """None once the project is gone: SQLite may give its number to another one, whose people must not see this."""

    label: Mapped[str] = mapped_column(String(300))
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class FlowEdgeRow(Base):
    """Data goes from a node to another one. Both indexes hold all that a walk needs."""

    __tablename__ = "flow_edges"
    __table_args__ = (
        Index("flow_edges_by_target", "target", "source", "relation"),
        {"sqlite_with_rowid": False},
    )

    source: Mapped[int] = mapped_column(_Number, ForeignKey("flow_nodes.number"), primary_key=True)
    target: Mapped[int] = mapped_column(_Number, ForeignKey("flow_nodes.number"), primary_key=True)
    relation: Mapped[str] = mapped_column(String(12), primary_key=True)
    created_at: Mapped[datetime]
