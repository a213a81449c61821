"""Notices on the wire."""

from __future__ import annotations

from typing import Optional

from pydantic import Field

from danlu.spec.monitoring.alerts import AlertKind
from danlu.spec.monitoring.events import EventKind
from danlu.wire.base import Answer, Body, Moment
from danlu.wire.monitoring.alerts import Detail


class NoticeOut(Answer):
    id: int
    kind: EventKind
    job: Optional[str]
    job_name: str
    alert_kind: Optional[AlertKind]
    message: str
    details: dict[str, Detail]
    at: Moment
    is_read: bool


class NoticesOut(Answer):
    items: list[NoticeOut]
    next: Optional[str]
    num_unread: int


class ReadNotices(Body):
    up_to: int = Field(ge=0, le=2**31 - 1)
    """Id of the newest notice that was seen; older ones are read as well."""


class NoticeWishes(Body):
    email: list[EventKind] = Field(default=[], max_length=20)
    """Events of your own jobs that you want an e-mail for."""


class NoticeWishesOut(Answer):
    email: list[EventKind]
    address: str
    """Where e-mail goes: the address of your account."""

    has_mail: bool
    """Whether this server can send e-mail."""
