"""Tables of alerts, notices, webhooks and deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class AlertRow(Base):
    """An alert of a job or of the platform, from when it was noticed until it was over."""

    __tablename__ = "alerts"
    __table_args__ = (Index("alerts_by_job", "job_id", "id"), Index("alerts_by_end", "closed_at", "id"))

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    kind: Mapped[str] = mapped_column(String(40))
    job_id: Mapped[str | None] = mapped_column(String(40))
    """None for alerts of the platform."""

    project_id: Mapped[int | None]
    attempt: Mapped[int] = mapped_column(default=0)
    subject: Mapped[str] = mapped_column(String(100))
    """What the alert is about, among those of one job and kind: a rank, a metric, a folder."""

    details: Mapped[dict[str, Any]]
    message: Mapped[str] = mapped_column(Text)
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]


class NoticeRow(Base):
    """A notice: an event that is shown to one user in the console."""

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
    """Events that a user gets by e-mail. No row: none."""

    __tablename__ = "notice_wishes"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    email_kinds: Mapped[list[Any]]


class WebhookRow(Base):
    """A webhook: an address that events are sent to."""

    __tablename__ = "webhooks"
    __table_args__ = (Index("webhooks_by_user", "user_id", "id"),)

    id: Mapped[str] = mapped_column(String(20), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    """The user who created it; it only receives events that they may see."""

    scope: Mapped[str] = mapped_column(String(20))
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    url: Mapped[str] = mapped_column(Text)
    kinds: Mapped[list[Any]]
    sealed_secret: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]


class DeliveryRow(Base):
    """A delivery: one event for one webhook or mailbox."""

    __tablename__ = "deliveries"
    __table_args__ = (
        Index("deliveries_by_due", "state", "next_at"),
        Index("deliveries_by_webhook", "webhook_id", "number"),
    )

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    """The same in every try, so that receivers can recognize repeated deliveries."""

    webhook_id: Mapped[str | None] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    """None for an e-mail."""

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(40))
    body: Mapped[str] = mapped_column(Text)
    """JSON that is sent to a webhook, or subject and text of an e-mail as JSON."""

    state: Mapped[str] = mapped_column(String(20))
    num_tries: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime]
    status: Mapped[int | None]
    """HTTP status of the last response."""

    problem: Mapped[str] = mapped_column(Text, default="")
    created_at: Mapped[datetime]
    tried_at: Mapped[datetime | None]
