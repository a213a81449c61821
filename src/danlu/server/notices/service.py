"""A user's notices and e-mail settings. No HTTP, no SQL, no commit."""

from __future__ import annotations

from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.errors import InvalidInput
from danlu.server.paging import cut
from danlu.server.state import ServerState
from danlu.spec.monitoring.alerts import AlertKind
from danlu.spec.monitoring.events import EventKind
from danlu.store.queries import people
from danlu.store.queries.monitoring import notices
from danlu.store.sql.monitoring_tables import NoticeRow
from danlu.wire.monitoring.notices import NoticeOut, NoticesOut, NoticeWishes, NoticeWishesOut


def list_notices(session: Session, who: UserIdentity, *, before: int | None, limit: int) -> NoticesOut:
    rows = notices.list_notices(session, who.user_id, before=before, limit=limit + 1)
    shown, after = cut(rows, limit, lambda row: str(row.id))
    unread = notices.num_unread(session, who.user_id)
    return NoticesOut(items=[_out(row) for row in shown], next=after, num_unread=unread)


def mark_read(session: Session, state: ServerState, who: UserIdentity, up_to: int) -> None:
    notices.mark_read(session, who.user_id, up_to=up_to, at=state.now())


def get_wishes(session: Session, state: ServerState, who: UserIdentity) -> NoticeWishesOut:
    user = people.get_user(session, who.user_id)
    kinds = [EventKind(kind) for kind in notices.email_kinds(session, who.user_id)]
    address = "" if user is None else user.email
    return NoticeWishesOut(email=kinds, address=address, has_mail=bool(state.settings.smtp_host))


def set_wishes(session: Session, state: ServerState, who: UserIdentity, wanted: NoticeWishes) -> NoticeWishesOut:
    if EventKind.TEST in wanted.email:
        told = f"expected kinds of events, got {EventKind.TEST.value!r}, which is for trying out webhooks"
        raise InvalidInput(f"email: {told}", fields={"email": told})
    notices.set_email_kinds(session, who.user_id, sorted({kind.value for kind in wanted.email}))
    return get_wishes(session, state, who)


def _out(row: NoticeRow) -> NoticeOut:
    return NoticeOut(
        id=row.id,
        kind=EventKind(row.kind),
        job=row.job_id,
        job_name=row.job_name,
        alert_kind=None if row.alert_kind is None else AlertKind(row.alert_kind),
        message=row.message,
        details=row.details,
        at=row.at,
        is_read=row.read_at is not None,
    )
