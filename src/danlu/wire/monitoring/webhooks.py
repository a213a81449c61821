"""Webhooks on the wire."""

from __future__ import annotations

from typing import Optional

from pydantic import Field

from danlu.spec.messages.catalogue import Message
from danlu.spec.monitoring.events import DeliveryState, EventKind, HookScope
from danlu.wire.base import Answer, Body, Moment


class AddWebhook(Body):
    url: str = Field(min_length=1, max_length=2000)
    scope: HookScope = HookScope.MINE
    """Whose events: of your jobs, of a project's (for its owners), or all (for admins)."""

    project: Optional[str] = Field(default=None, max_length=100)
    """The project, where the scope is one."""

    kinds: list[EventKind] = Field(
        default=[EventKind.JOB_SUCCEEDED, EventKind.JOB_FAILED, EventKind.ALERT_OPENED], min_length=1, max_length=20
    )


class WebhookOut(Answer):
    id: str
    url: str
    scope: HookScope
    project: Optional[str]
    kinds: list[EventKind]
    created_at: Moment


class NewWebhookOut(WebhookOut):
    secret: str
    """Deliveries are signed with it. It is shown once."""


class WebhooksOut(Answer):
    items: list[WebhookOut]


class DeliveryOut(Answer):
    id: str
    kind: EventKind
    state: DeliveryState
    num_tries: int
    status: Optional[int]
    """HTTP status of the last answer."""

    problem: str
    """Why the last try failed."""

    said: Optional[Message] = None
    """The same with its code and parameters."""

    created_at: Moment
    tried_at: Optional[Moment]
    next_at: Optional[Moment]
    """When it is tried again."""
