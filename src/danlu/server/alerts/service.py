"""Lists alerts: of jobs that the user sees; for admins, those of the platform as well."""

from __future__ import annotations

from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.server.jobs.service import find
from danlu.server.paging import page_of
from danlu.server.scope import visible_project_ids
from danlu.spec.monitoring.alerts import ALERTS, AlertKind
from danlu.store.queries import people
from danlu.store.queries.monitoring import alerts
from danlu.store.sql.monitoring_tables import AlertRow
from danlu.wire.base import Page
from danlu.wire.monitoring.alerts import AlertOut


def list_alerts(
    session: Session, who: UserIdentity, *, job: str | None, is_open: bool | None, before: int | None, limit: int
) -> Page[AlertOut]:
    job_id = None if job is None else find(session, who, job).id
    rows = alerts.list_alerts(
        session, visible_project_ids(who), job_id=job_id, is_open=is_open, before=before, limit=limit + 1
    )
    names = people.projects_by_id(session)
    return page_of([_out(row, names.get(row.project_id or 0)) for row in rows], limit, lambda one: str(one.id))


def _out(row: AlertRow, project: str | None) -> AlertOut:
    kind = AlertKind(row.kind)
    return AlertOut(
        id=row.id,
        kind=kind,
        job=row.job_id,
        project=project,
        attempt=row.attempt,
        message=row.message,
        remedy=ALERTS[kind].remedy,
        details=row.details,
        opened_at=row.opened_at,
        closed_at=row.closed_at,
    )
