"""Deliveries that are due: claimed in one transaction, tried without any, their results stored in another."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from danlu.server.state import ServerState
from danlu.server.webhooks.addresses import Resolve, parse_networks
from danlu.server.webhooks.sending import Message, Outcome, post, send_mail
from danlu.spec.monitoring.events import DeliveryState
from danlu.store.queries.monitoring import webhooks
from danlu.store.sql.monitoring_tables import DeliveryRow

log = logging.getLogger(__name__)

PAUSES_SECONDS = (10.0, 60.0, 300.0, 1800.0, 7200.0, 21600.0)
"""Pauses between tries: the last try is over eight hours after the first."""

CLAIM_SECONDS = 120.0
AT_ONCE = 32
NUM_THREADS = AT_ONCE
"""A receiver that does not answer holds one of them for ten seconds, and delays no other delivery."""

KEEP_DAYS = 30


@dataclass(frozen=True, slots=True)
class _Due:
    row: DeliveryRow
    url: str
    secret: str


def deliver_due(state: ServerState, resolve: Resolve | None = None) -> int:
    """Try each due delivery once; return how many. Blocks for as long as the receivers do."""
    now = state.now()
    if not state.database.read(webhooks.is_any_due, now):
        return 0
    due = state.database.write(_claim, state)
    networks = parse_networks(state.settings.webhook_networks)

    def try_one(one: _Due) -> Outcome:
        message = Message(
            one.row.id, one.url, one.secret, one.row.kind, one.row.body.encode(), timestamp=int(now.timestamp())
        )
        try:
            is_mail = one.row.webhook_id is None
            return send_mail(state.settings, one.row.body) if is_mail else post(message, networks, resolve=resolve)
        except Exception as error:  # a bug in one delivery must not stop the others
            log.exception("delivery %s met an unknown error", one.row.id)
            return Outcome(False, problem=f"unknown error: {type(error).__name__}")

    with ThreadPoolExecutor(NUM_THREADS, thread_name_prefix="deliveries") as threads:
        outcomes = list(threads.map(try_one, due))
    state.database.write(_store, state, due, outcomes)
    return len(due)


def _claim(session: Session, state: ServerState) -> list[_Due]:
    found = []
    for row in webhooks.claim_due(session, state.now(), seconds=CLAIM_SECONDS, limit=AT_ONCE):
        hook = None if row.webhook_id is None else webhooks.get_webhook(session, row.webhook_id)
        secret = "" if hook is None else state.sealer.open(hook.sealed_secret)["secret"]
        found.append(_Due(row, "" if hook is None else hook.url, secret))
    return found


def _store(session: Session, state: ServerState, due: Sequence[_Due], outcomes: Sequence[Outcome]) -> None:
    now = state.now()
    for one, outcome in zip(due, outcomes, strict=True):
        number_of_pauses = one.row.num_tries - 1
        is_last = outcome.is_final or number_of_pauses >= len(PAUSES_SECONDS)
        if outcome.is_delivered:
            result, next_at = DeliveryState.DELIVERED, None
        elif is_last:
            result, next_at = DeliveryState.FAILED, None
        else:
            result, next_at = DeliveryState.WAITING, now + timedelta(seconds=PAUSES_SECONDS[number_of_pauses])
        webhooks.set_result(
            session, one.row.number, result, status=outcome.status, problem=outcome.problem[:500], next_at=next_at
        )
    webhooks.forget_deliveries(session, now - timedelta(days=KEEP_DAYS))
