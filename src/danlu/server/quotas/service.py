"""The rules of quotas: admins set those of projects, owners those of a project's users, members see them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import NotAllowed
from danlu.server.audit.service import record_action
from danlu.server.invalid import bad_field
from danlu.server.scope import find_project
from danlu.spec.audit import Action
from danlu.spec.devices import CPU
from danlu.spec.units import parse_size
from danlu.store.queries import holdings, people, projects, quotas
from danlu.wire.quotas import Amounts, QuotaOut, QuotasOut, SetQuotas, UserQuotasOut

CPUS, MEMORY = "cpus", "memory"
MAX_AMOUNT = 2.0**60
_RESOURCE = re.compile(r"[a-z][a-z0-9_-]{0,39}")


def get(session: Session, who: UserIdentity, project: str) -> QuotasOut:
    return _quotas_out(session, project, find_project(session, who, project).id)


def put(session: Session, who: UserIdentity, project: str, wanted: SetQuotas, now: datetime) -> QuotasOut:
    """Change the given quotas. All are checked before any is stored."""
    project_id = find_project(session, who, project).id
    if wanted.project is not None:
        rights.check_admin(
            who, f"only admins may set the quota of project {project!r}; its owners set those of its users"
        )
    if not rights.can_own_project(who, project_id):
        raise NotAllowed(f"only owners of project {project!r} may set its quotas; ask one of them")
    changes = {}
    members = {member.name: member.user_id for member in projects.members(session, project_id)}
    if wanted.project is not None:
        changes[quotas.WHOLE_PROJECT] = _amounts("project", wanted.project)
    for name, amounts in wanted.users.items():
        if name not in members:  # the same error whether or not the user exists
            raise bad_field(f"users.{name}", f"{name!r} is no member of {project!r}")
        changes[members[name]] = _amounts(f"users.{name}", amounts)
    for user_id, checked in changes.items():
        quotas.set_quota(session, project_id, user_id, checked)
    told = wanted.model_dump_json(exclude_none=True)
    record_action(session, who, Action.QUOTA_SET, f"project/{project}", at=now, project_id=project_id, quotas=told)
    return _quotas_out(session, project, project_id)


def _amounts(field: str, given: Amounts) -> dict[str, float]:
    return {resource: _amount(f"{field}.{resource}", resource, value) for resource, value in given.items()}


def _amount(field: str, resource: str, value: float | str) -> float:
    if not _RESOURCE.fullmatch(resource) or resource == CPU:
        raise bad_field(field, f"{resource!r} is not a resource; expected a device type such as npu, or cpus or memory")
    if resource.endswith("s") and resource != CPUS:
        raise bad_field(field, f"expected a device type such as {resource[:-1]!r}, got {resource!r}")
    try:
        amount = float(parse_size(value)) if resource == MEMORY else float(value)
    except ValueError:
        right = "a size such as 64GB" if resource == MEMORY else "a number"
        raise bad_field(field, f"{value!r} is no amount; expected {right}") from None
    if not math.isfinite(amount) or not 0 <= amount <= MAX_AMOUNT:
        raise bad_field(field, f"{value!r} is no amount; expected 0 or more")
    if resource not in (CPUS, MEMORY) and amount != int(amount):
        raise bad_field(field, f"{value!r} is not a whole number of devices")
    return amount


def _quotas_out(session: Session, project: str, project_id: int) -> QuotasOut:
    projects, users = quotas.all_quotas(session)
    used = holdings.of_project(session, project_id)
    ids = {user_id for number, user_id in users if number == project_id} | {owner for owner, _ in used}
    names = people.names_of_users(session, ids)
    return QuotasOut(
        project=project,
        quotas=_lines(projects.get(project_id, {}), list(used.items())),
        users=[
            UserQuotasOut(
                user=names[user_id],
                quotas=_lines(
                    users.get((project_id, user_id), {}), [item for item in used.items() if item[0][0] == user_id]
                ),
            )
            for user_id in sorted(ids, key=lambda user_id: names.get(user_id, ""))
            if user_id in names
        ],
    )


def _lines(quota: Mapping[str, float], used: list[tuple[tuple[int, bool], Mapping[str, float]]]) -> list[QuotaOut]:
    """One line for each resource that is limited or in use."""
    all_: dict[str, float] = {}
    firm: dict[str, float] = {}
    for (_, is_preemptible), amounts in used:
        for resource, amount in amounts.items():
            all_[resource] = all_.get(resource, 0.0) + amount
            firm[resource] = firm.get(resource, 0.0) + (0.0 if is_preemptible else amount)
    lines = []
    for resource in sorted({*quota, *all_}):
        most = quota.get(resource)
        lines.append(
            QuotaOut(
                resource=resource,
                quota=most,
                used=all_.get(resource, 0.0),
                firm=firm.get(resource, 0.0),
                borrowed=0.0 if most is None else max(0.0, all_.get(resource, 0.0) - most),
                free=None if most is None else max(0.0, most - firm.get(resource, 0.0)),
            )
        )
    return lines
