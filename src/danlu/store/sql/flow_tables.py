"""Tables of the data flow: nodes and edges."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base

_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite generates ids for INTEGER keys only
_Key = String(1000).with_variant(String(1000, collation="C"), "postgresql")
"""Compared by bytes on both databases, so that all keys below a folder are one range of the index."""


class FlowNodeRow(Base):
    """A node of the data flow. It stays when the object is deleted."""

    __tablename__ = "flow_nodes"
    __table_args__ = (UniqueConstraint("kind", "key"), Index("flow_nodes_by_project", "project_id"))

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    kind: Mapped[str] = mapped_column(String(12))
    key: Mapped[str] = mapped_column(_Key)
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="SET NULL"))
    """None once the project is deleted; only admins see the node then."""

    label: Mapped[str] = mapped_column(String(300))
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class FlowEdgeRow(Base):
    """An edge of the data flow. Both indexes cover what a walk reads."""

    __tablename__ = "flow_edges"
    __table_args__ = (
        Index("flow_edges_by_target", "target", "source", "relation"),
        {"sqlite_with_rowid": False},
    )

    source: Mapped[int] = mapped_column(_Number, ForeignKey("flow_nodes.number"), primary_key=True)
    target: Mapped[int] = mapped_column(_Number, ForeignKey("flow_nodes.number"), primary_key=True)
    relation: Mapped[str] = mapped_column(String(12), primary_key=True)
    created_at: Mapped[datetime]
