"""Table of saved views."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class ViewRow(Base):
    """A saved view: how charts and tables of runs are shown."""

    __tablename__ = "views"
    __table_args__ = (UniqueConstraint("project_id", "owner_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(100))
    is_shared: Mapped[bool] = mapped_column(default=False)
    """Whether all members of the project see it."""

    page: Mapped[str] = mapped_column(String(20))
    search: Mapped[dict[str, Any]]
    changed_at: Mapped[datetime]
