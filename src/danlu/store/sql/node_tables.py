"""What people say of nodes. What engines say of them is another table, which every look at the nodes writes anew."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class DrainRow(Base):
    """A node on which nothing new is started. It stays so while the node is away, and when it comes back."""

    __tablename__ = "drains"

    node: Mapped[str] = mapped_column(String(100), primary_key=True)
    reason: Mapped[str] = mapped_column(Text)
    evicts: Mapped[bool] = mapped_column(default=False)
    """Whether preemptible jobs that run there have to leave."""

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    at: Mapped[datetime]
