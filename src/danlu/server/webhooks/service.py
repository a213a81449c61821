"""The rules of webhooks: who may add them, and for which events. No HTTP, no SQL, no commit."""

from __future__ import annotations

import json
import secrets

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import InvalidInput, NotFound, TooManyRequests
from danlu.server.audit.service import record_action
from danlu.server.notices.telling import add_delivery
from danlu.server.paging import page_of
from danlu.server.scope import find_project_to_own
from danlu.server.state import ServerState
from danlu.server.webhooks.addresses import check_url
from danlu.server.webhooks.signing import make_secret
from danlu.spec.audit import Action
from danlu.spec.messages.catalogue import recognise
from danlu.spec.monitoring.events import DeliveryState, EventKind, HookScope
from danlu.store.queries import people
from danlu.store.queries.monitoring import webhooks
from danlu.store.sql.monitoring_tables import DeliveryRow, WebhookRow
from danlu.wire.base import Page
from danlu.wire.monitoring.webhooks import AddWebhook, DeliveryOut, NewWebhookOut, WebhookOut, WebhooksOut

MAX_WEBHOOKS = 20
MAX_WAITING = 20
"""Most waiting deliveries of a webhook that a user may add a test event to."""


def list_webhooks(session: Session, who: UserIdentity) -> WebhooksOut:
    names = people.projects_by_id(session)
    return WebhooksOut(items=[_out(row, names) for row in webhooks.webhooks_of(session, who.user_id)])


def add_webhook(session: Session, state: ServerState, who: UserIdentity, body: AddWebhook) -> NewWebhookOut:
    rights.check_lasting(who, "a webhook")
    check_url(body.url)
    if EventKind.TEST in body.kinds:
        told = f"expected kinds of events, got {EventKind.TEST.value!r}, which every webhook gets when it is tried out"
        raise InvalidInput(f"kinds: {told}", fields={"kinds": told})
    project_id = _project(session, who, body)
    if len(webhooks.webhooks_of(session, who.user_id)) >= MAX_WEBHOOKS:
        raise InvalidInput(f"you have {MAX_WEBHOOKS} webhooks, which is the maximum; remove one first")
    secret = make_secret()
    row = WebhookRow(
        id=f"wh-{secrets.token_hex(8)}",
        user_id=who.user_id,
        scope=body.scope.value,
        project_id=project_id,
        url=body.url,
        kinds=sorted({kind.value for kind in body.kinds}),
        sealed_secret=state.sealer.seal({"secret": secret}),
        created_at=state.now(),
    )
    webhooks.add_webhook(session, row)
    _record(session, state, who, Action.WEBHOOK_ADD, row)
    shown = _out(row, people.projects_by_id(session))
    return NewWebhookOut(**shown.model_dump(), secret=secret)


def remove_webhook(session: Session, state: ServerState, who: UserIdentity, webhook: str) -> None:
    row = _find(session, who, webhook)
    webhooks.delete_webhook(session, row)
    _record(session, state, who, Action.WEBHOOK_REMOVE, row)


def try_webhook(session: Session, state: ServerState, who: UserIdentity, webhook: str) -> DeliveryOut:
    """Send a test event to the webhook."""
    row = _find(session, who, webhook)
    if webhooks.num_waiting(session, row.id) >= MAX_WAITING:
        raise TooManyRequests(f"{MAX_WAITING} deliveries to {row.id} are waiting; wait until they are delivered")
    data = {"type": EventKind.TEST.value, "timestamp": state.now().isoformat(), "data": {"webhook": row.id}}
    sent = add_delivery(session, state, EventKind.TEST, json.dumps(data), user_id=who.user_id, webhook_id=row.id)
    return _delivery_out(sent)


def list_deliveries(
    session: Session, who: UserIdentity, webhook: str, *, before: int | None, limit: int
) -> Page[DeliveryOut]:
    row = _find(session, who, webhook)
    rows = webhooks.list_deliveries(session, row.id, before=before, limit=limit + 1)
    page = page_of(rows, limit, lambda one: str(one.number))
    return Page(items=[_delivery_out(one) for one in page.items], next=page.next)


def _project(session: Session, who: UserIdentity, body: AddWebhook) -> int | None:
    if body.scope is HookScope.ALL:
        rights.check_admin(who, "only admins may have webhooks for all events")
    if (body.scope is HookScope.PROJECT) != (body.project is not None):
        told = "expected the name of a project with the scope `project`, and none with others"
        raise InvalidInput(f"project: {told}", fields={"project": told})
    return None if body.project is None else find_project_to_own(session, who, body.project).id


def _find(session: Session, who: UserIdentity, webhook: str) -> WebhookRow:
    row = webhooks.get_webhook(session, webhook)
    if row is None or row.user_id != who.user_id:
        raise NotFound(f"you have no webhook {webhook!r}; `danlu webhooks ls` shows yours")
    return row


def _record(session: Session, state: ServerState, who: UserIdentity, action: Action, row: WebhookRow) -> None:
    record_action(session, who, action, f"webhook/{row.id}", at=state.now(), project_id=row.project_id, scope=row.scope)


def _out(row: WebhookRow, projects: dict[int, str]) -> WebhookOut:
    return WebhookOut(
        id=row.id,
        url=row.url,
        scope=HookScope(row.scope),
        project=projects.get(row.project_id or 0),
        kinds=[EventKind(kind) for kind in row.kinds],
        created_at=row.created_at,
    )


def _delivery_out(row: DeliveryRow) -> DeliveryOut:
    state = DeliveryState(row.state)
    return DeliveryOut(
        id=row.id,
        kind=EventKind(row.kind),
        state=state,
        num_tries=row.num_tries,
        status=row.status,
        problem=row.problem,
        said=recognise(row.problem) if row.problem else None,
        created_at=row.created_at,
        tried_at=row.tried_at,
        next_at=row.next_at if state is DeliveryState.WAITING else None,
    )
