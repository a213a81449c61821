"""Tables of flavors and frameworks. Jobs refer to them by name, and keep a copy."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Float, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class FlavorRow(Base):
    __tablename__ = "flavors"

    name: Mapped[str] = mapped_column(String(63), primary_key=True)
    device: Mapped[str] = mapped_column(Text)
    cpus: Mapped[float | None] = mapped_column(Float)
    memory: Mapped[int | None] = mapped_column(BigInteger)
    price_per_hour: Mapped[str] = mapped_column(String(40))
    """A decimal as text: databases would convert it to a float or round it differently."""

    description: Mapped[str] = mapped_column(Text)
    is_enabled: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime]


class FrameworkRow(Base):
    __tablename__ = "frameworks"

    name: Mapped[str] = mapped_column(String(63), primary_key=True)
    title: Mapped[str] = mapped_column(String(200))
    image: Mapped[str | None] = mapped_column(Text)
    setup: Mapped[str | None] = mapped_column(Text)
    env: Mapped[dict[str, Any]]
    launch: Mapped[list[Any]]
    purpose: Mapped[str] = mapped_column(String(20), default="training", server_default="training")
    description: Mapped[str] = mapped_column(Text)
    is_enabled: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime]
