"""`client.webhooks`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional, Union

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.pages import pages
from danlu.spec.monitoring.events import EventKind, HookScope
from danlu.wire.monitoring.webhooks import AddWebhook, DeliveryOut, NewWebhookOut, WebhookOut, WebhooksOut


class Webhooks:
    """Your addresses that events are sent to."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> list[WebhookOut]:
        """Your webhooks, oldest first."""
        return self._http.get("/webhooks", WebhooksOut).items

    def add(
        self,
        url: str,
        *,
        kinds: Optional[Sequence[Union[EventKind, str]]] = None,
        scope: Union[HookScope, str] = HookScope.MINE,
        project: Optional[str] = None,
    ) -> NewWebhookOut:
        """Add a webhook. The `secret` in the response signs what is sent, and is shown only once."""
        chosen = None if kinds is None else list(kinds)
        wanted = body(AddWebhook, url=url, scope=scope, project=project, kinds=chosen)
        return self._http.post("/webhooks", NewWebhookOut, body=wanted)

    def remove(self, webhook_id: str) -> None:
        self._http.send("DELETE", f"/webhooks/{quote_part(webhook_id)}")

    def test(self, webhook_id: str) -> DeliveryOut:
        """Send an event of kind `test`."""
        return self._http.post(f"/webhooks/{quote_part(webhook_id)}/test", DeliveryOut)

    def deliveries(self, webhook_id: str) -> Iterator[DeliveryOut]:
        """Deliveries, newest first."""
        return pages(self._http, f"/webhooks/{quote_part(webhook_id)}/deliveries", DeliveryOut)
