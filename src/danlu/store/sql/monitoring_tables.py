"""Tables of alerts, notices, webhooks and deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class AlertRow(Base):
    """Something that is wrong, from when it was noticed until it was over."""

    __tablename__ = "alerts"
    __table_args__ = (Index("alerts_by_job", "job_id", "id"), Index("alerts_by_end", "closed_at", "id"))

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    kind: Mapped[str] = mapped_column(String(40))
    job_id: Mapped[str | None] = mapped_column(String(40))
    """None: of the platform itself."""

    project_id: Mapped[int | None]
    attempt: Mapped[int] = mapped_column(default=0)
    subject: Mapped[str] = mapped_column(String(100))
    """Of a job's alerts of one kind, which one it is: a rank, a metric, a folder."""

    details: Mapped[dict[str, Any]]
    message: Mapped[str] = mapped_column(Text)
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]


class NoticeRow(Base):
    """An event that one person is told of in the console."""

    __tablename__ = "notices"
    __table_args__ = (Index("notices_by_user", "user_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(40))
    job_id: Mapped[str | None] = mapped_column(String(40))
    job_name: Mapped[str] = mapped_column(String(100))
    alert_kind: Mapped[str | None] = mapped_column(String(40))
    details: Mapped[dict[str, Any]]
    message: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(index=True)
    read_at: Mapped[datetime | None]


class NoticeWishRow(Base):
    """Which events somebody wants to hear of by e-mail. No row: none."""

    __tablename__ = "notice_wishes"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    email_kinds: Mapped[list[Any]]


class WebhookRow(Base):
    """An address that is told of events."""

    __tablename__ = "webhooks"
    __table_args__ = (Index("webhooks_by_user", "user_id", "id"),)

    id: Mapped[str] = mapped_column(String(20), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    """Who made it; it hears only of what they may see."""

    scope: Mapped[str] = mapped_column(String(20))
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    url: Mapped[str] = mapped_column(Text)
    kinds: Mapped[list[Any]]
    sealed_secret: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]


class DeliveryRow(Base):
    """One event on its way to one webhook or mailbox."""

    __tablename__ = "deliveries"
    __table_args__ = (
        Index("deliveries_by_due", "state", "next_at"),
        Index("deliveries_by_webhook", "webhook_id", "number"),
    )

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    """The same at every try: by it receivers know what they have had before."""

    webhook_id: Mapped[str | None] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    """None: an e-mail."""

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(40))
    body: Mapped[str] = mapped_column(Text)
    """What is sent: of a webhook the JSON, of an e-mail its subject and text as JSON."""

    state: Mapped[str] = mapped_column(String(20))
    num_tries: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime]
    status: Mapped[int | None]
    """HTTP status of the last answer."""

    problem: Mapped[str] = mapped_column(Text, default="")
    created_at: Mapped[datetime]
    tried_at: Mapped[datetime | None]
