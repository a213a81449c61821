"""Notices about alerts from scripts, limited in number."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from danlu.server.notices.mail import Told
from danlu.server.notices.telling import tell
from danlu.server.state import ServerState
from danlu.spec.monitoring.events import EventKind
from danlu.store.queries import jobs
from danlu.store.queries.monitoring import run_alerts
from danlu.store.queries.monitoring.run_alerts import KEPT, TOLD, NumTold
from danlu.store.sql.run_tables import RunAlertRow, RunRow

AT_ONCE = 100
PER_RUN, PER_OWNER = 20, 60
"""Notices per hour, for each run and each owner. Pages of runs show all alerts."""

LATE = timedelta(days=1)
"""No notice is sent for an alert that arrives this late, by `danlu sync`."""


def tell_run_alerts(session: Session, state: ServerState) -> int:
    """Send notices about waiting alerts, in one transaction; return how many alerts were handled."""
    now = state.now()
    found = run_alerts.waiting(session, AT_ONCE)
    for alert, run in found:
        told = run_alerts.num_told(session, run, now - timedelta(hours=1))
        is_told = may_tell(told, now=now, at=alert.at)
        if run_alerts.settle(session, alert, TOLD if is_told else KEPT, now) and is_told:
            _tell(session, state, alert, run)
    return len(found)


def may_tell(told: NumTold, *, now: datetime, at: float) -> bool:
    """Whether to send a notice about one more alert. `at`: Unix time, by the clock of the script."""
    is_late = at < (now - LATE).timestamp()
    return not is_late and told.of_run < PER_RUN and told.of_owner < PER_OWNER


def _tell(session: Session, state: ServerState, alert: RunAlertRow, run: RunRow) -> None:
    job = None if run.job_id is None else jobs.get_job(session, run.job_id)
    about = {"title": alert.title, "text": alert.text, "level": alert.level, "step": alert.step}
    message = f"{alert.title}: {alert.text}" if alert.text else alert.title
    details = {**about, "run": run.id, "run_name": run.name}
    url = f"{state.settings.reached_at}/experiments/{run.id}"
    data = {"alert": {**about, "message": message}, "run": {"id": run.id, "name": run.name, "url": url}}
    tell(session, state, Told(kind=EventKind.RUN_ALERT, job=job, message=message, run=run, details=details), data=data)
