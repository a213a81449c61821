"""Webhooks over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server.identity import CurrentUser
from danlu.server.paging import Cursor, Limit, number_in
from danlu.server.state import State
from danlu.server.webhooks import service
from danlu.wire.base import Page
from danlu.wire.monitoring.webhooks import AddWebhook, DeliveryOut, NewWebhookOut, WebhooksOut

router = APIRouter(prefix="/webhooks", tags=["monitoring"])
MAX_ID_DIGITS = 9


@router.get("")
def list_webhooks(who: CurrentUser, state: State) -> WebhooksOut:
    """Your own, in the order in which they were added."""
    return state.database.read(service.list_webhooks, who)


@router.post("", status_code=201)
def add_webhook(body: AddWebhook, who: CurrentUser, state: State) -> NewWebhookOut:
    """Have events sent to an address of yours, signed with the secret of the answer."""
    return state.database.write(service.add_webhook, state, who, body)


@router.delete("/{webhook}", status_code=204)
def remove_webhook(webhook: str, who: CurrentUser, state: State) -> Response:
    """Remove a webhook, and what is still to be sent to it."""
    state.database.write(service.remove_webhook, state, who, webhook)
    return Response(status_code=204)


@router.post("/{webhook}/test", status_code=201)
def try_webhook(webhook: str, who: CurrentUser, state: State) -> DeliveryOut:
    """Have an event of the kind `test` sent."""
    return state.database.write(service.try_webhook, state, who, webhook)


@router.get("/{webhook}/deliveries")
def list_deliveries(
    webhook: str, who: CurrentUser, state: State, cursor: Cursor = None, limit: Limit = 50
) -> Page[DeliveryOut]:
    """What was sent, newest first, for 30 days."""
    before = number_in(cursor, max_digits=MAX_ID_DIGITS)
    return state.database.read(service.list_deliveries, who, webhook, before=before, limit=limit)
