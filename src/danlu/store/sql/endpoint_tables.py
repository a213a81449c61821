"""Tables of endpoints, and of the last use of jobs."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class EndpointRow(Base):
    """An endpoint that is open while its job runs."""

    __tablename__ = "endpoints"

    job_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(20), primary_key=True)
    is_shared: Mapped[bool] = mapped_column(default=False)
    """Whether all users who may submit jobs to the project may use it."""

    opened_at: Mapped[datetime]


class JobUseRow(Base):
    """When a job was last used by a user, or last did work. No row: not since it started."""

    __tablename__ = "job_uses"

    job_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    used_at: Mapped[datetime]
