"""Table of favourites."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class FavouriteRow(Base):
    """A job that a user has marked as a favourite."""

    __tablename__ = "favourites"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    job_id: Mapped[str] = mapped_column(
        String(40), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    added_at: Mapped[datetime]
