"""What jobs cost so far, by project and user."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.server.invalid import bad_field
from danlu.spec.money import cost
from danlu.spec.terms import Terms
from danlu.store.queries import holdings, people
from danlu.wire.costs import CostRow, CostsOut

_HOUR = timedelta(hours=1)


@dataclass
class _Sum:
    num_jobs: int = 0
    hours: float = 0.0
    cost: Decimal = Decimal(0)


def costs_between(session: Session, who: UserIdentity, since: datetime | None, until: datetime) -> CostsOut:
    """Costs of what was held between two moments, by project and user. For admins."""
    rights.check_admin(who, "only admins may see the costs of all projects; `danlu ps` shows those of your jobs")
    if since is not None and since >= until:
        raise bad_field("since", f"expected a moment before {until.isoformat()}, got {since.isoformat()}")
    sums: dict[tuple[int, int, str], _Sum] = {}
    for _, attempts in groupby(holdings.held_between(session, since, until), key=lambda one: one.job_id):
        job = list(attempts)
        terms = Terms.model_validate(job[0].terms)
        if terms.price_per_hour is None or terms.currency is None:
            continue
        spans = [_cut(one, since, until) for one in job]
        found = sums.setdefault((job[0].project_id, job[0].owner_id, terms.currency), _Sum())
        found.num_jobs += 1
        found.hours += sum((max(timedelta(0), end - begin) / _HOUR for begin, end in spans), 0.0)
        found.cost += cost(terms.price_per_hour, spans, until)
    projects, users = people.projects_by_id(session), people.names_of_users(session, {user for _, user, _ in sums})
    rows = [
        CostRow(
            project=projects[project_id],
            user=users.get(user_id, ""),
            currency=currency,
            num_jobs=found.num_jobs,
            hours=round(found.hours, 6),
            cost=found.cost,
        )
        for (project_id, user_id, currency), found in sums.items()
    ]
    return CostsOut(since=since, until=until, items=sorted(rows, key=lambda row: (row.project, row.user, row.currency)))


def _cut(one: holdings.Held, since: datetime | None, until: datetime) -> tuple[datetime, datetime]:
    begin = one.started_at if since is None else max(one.started_at, since)
    return begin, min(one.ended_at or until, until)
