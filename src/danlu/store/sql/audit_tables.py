"""The table of the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class AuditRow(Base):
    """Who changed what, when and from where. Rows have no foreign keys: they outlive what they describe."""

    __tablename__ = "audit_events"
    __table_args__ = (
        Index("audit_by_actor", "actor", "id"),
        Index("audit_by_object", "object", "id"),
        Index("audit_by_project", "project_id", "id"),
        Index("audit_by_time", "at", "id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(String(100))
    """A user's name, a job's id, or empty for requests without credentials."""

    action: Mapped[str] = mapped_column(String(40))
    object: Mapped[str] = mapped_column(String(200))
    project_id: Mapped[int | None]
    address: Mapped[str] = mapped_column(String(64))
    via: Mapped[str] = mapped_column(String(60))
    details: Mapped[dict[str, Any]]
    count: Mapped[int] = mapped_column(default=1)
    """Number of equal events in a row that the row stands for."""
