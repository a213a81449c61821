"""Table of drained nodes. Reports of engines about nodes are in another table."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class DrainRow(Base):
    """A drained node: no new tasks start there. It stays drained when it goes offline and comes back."""

    __tablename__ = "drains"

    node: Mapped[str] = mapped_column(String(100), primary_key=True)
    reason: Mapped[str] = mapped_column(Text)
    evicts: Mapped[bool] = mapped_column(default=False)
    """Whether preemptible jobs are evicted from it."""

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    at: Mapped[datetime]
