"""Sends events to users in the console, webhooks and mailboxes. All of it is stored with the event itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from danlu.auth import rights, secrets
from danlu.errors import DanluError
from danlu.server.identity import user_identity
from danlu.server.notices.mail import Told, mail_of
from danlu.server.state import ServerState
from danlu.spec.monitoring.events import DeliveryState, EventKind, HookScope
from danlu.store.queries import people
from danlu.store.queries.monitoring import notices, webhooks
from danlu.store.sql.monitoring_tables import DeliveryRow, NoticeRow, WebhookRow
from danlu.store.sql.tables import JobRow, UserRow


def tell(session: Session, state: ServerState, told: Told, *, data: Mapping[str, Any]) -> None:
    """Store notices and deliveries for all recipients. `data`: what webhooks get besides the job."""
    concerned = _concerned(session, told)
    for user in concerned:
        if told.kind is not EventKind.ALERT_CLOSED:  # the job shows when an alert was closed
            notices.add_notice(session, _notice(state, user, told))
        if state.settings.smtp_host and user.email and told.kind.value in notices.email_kinds(session, user.id):
            mail = mail_of(told, to=user.email, base_url=state.settings.reached_at, language=state.settings.speaks)
            add_delivery(session, state, told.kind, json.dumps(mail), user_id=user.id)
    hooks = [hook for hook in webhooks.all_webhooks(session) if _hears(session, hook, told)]
    if not hooks:
        return
    body = {**data, **({} if told.job is None else {"job": _job(session, state, told.job)})}
    text = json.dumps({"type": told.kind.value, "timestamp": state.now().isoformat(), "data": body}, ensure_ascii=False)
    for hook in hooks:
        add_delivery(session, state, told.kind, text, user_id=hook.user_id, webhook_id=hook.id)


def add_delivery(
    session: Session, state: ServerState, kind: EventKind, body: str, *, user_id: int, webhook_id: str | None = None
) -> DeliveryRow:
    """Queue a delivery to a webhook or, without one, by e-mail."""
    now = state.now()
    row = DeliveryRow(
        id=secrets.make_token("msg_"),
        webhook_id=webhook_id,
        user_id=user_id,
        kind=kind.value,
        body=body,
        state=DeliveryState.WAITING.value,
        num_tries=0,
        next_at=now,
        problem="",
        created_at=now,
    )
    row.id = row.id[:40]
    webhooks.add_delivery(session, row)
    return row


def _concerned(session: Session, told: Told) -> list[UserRow]:
    """The owner of the run or the job; the admins when it is about the platform."""
    about = told.run or told.job
    if about is None:
        return list(people.active_admins(session))
    owner = people.get_user(session, about.owner_id)
    return [] if owner is None or not owner.is_active else [owner]


def _hears(session: Session, hook: WebhookRow, told: Told) -> bool:
    """Whether a webhook is for this event, and its user may still see what the event is about."""
    if told.kind.value not in hook.kinds:
        return False
    try:
        who = user_identity(session, hook.user_id)
    except DanluError:  # disabled meanwhile
        return False
    about = told.run or told.job
    if about is None:
        return hook.scope == HookScope.ALL.value and who.is_admin
    if hook.scope == HookScope.MINE.value:
        return about.owner_id == who.user_id and rights.can_see_project(who, about.project_id)
    if hook.scope == HookScope.PROJECT.value:
        return hook.project_id == about.project_id and rights.can_own_project(who, about.project_id)
    return who.is_admin


def _notice(state: ServerState, user: UserRow, told: Told) -> NoticeRow:
    return NoticeRow(
        user_id=user.id,
        kind=told.kind.value,
        job_id=None if told.job is None else told.job.id,
        job_name="" if told.job is None else told.job.name,
        alert_kind=None if told.alert_kind is None else told.alert_kind.value,
        details=dict(told.details),
        message=told.message,
        at=state.now(),
    )


def _job(session: Session, state: ServerState, job: JobRow) -> dict[str, Any]:
    owner = people.get_user(session, job.owner_id)
    return {
        "id": job.id,
        "name": job.name,
        "project": people.projects_by_id(session).get(job.project_id, ""),
        "owner": "" if owner is None else owner.name,
        "state": job.state,
        "attempt": job.attempt,
        "reason": {"code": job.reason_code, "message": job.reason_message},
        "started_at": None if job.started_at is None else job.started_at.isoformat(),
        "ended_at": None if job.ended_at is None else job.ended_at.isoformat(),
        "url": _url(state, job),
    }


def _url(state: ServerState, job: JobRow) -> str:
    return f"{state.settings.reached_at}/jobs/{job.id}"
