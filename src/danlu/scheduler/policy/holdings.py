"""Who uses how much, and how much of it is theirs by quota."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Amounts = Mapping[str, float]
_SLACK = 1e-6
"""Shares of cpus are not exact."""


class Limit(NamedTuple):
    """A quota that keeps a job waiting."""

    scope: str
    """`project` or `user`."""

    resource: str
    quota: float
    used: float
    asked: float


@dataclass(frozen=True, slots=True)
class Quotas:
    """Resource -> how much of it a project, or one of its users, may hold firmly. What is not named has no limit."""

    projects: Mapping[int, Amounts] = field(default_factory=dict)
    users: Mapping[tuple[int, int], Amounts] = field(default_factory=dict)
    """(project, user) -> quota."""

    def of(self, project_id: int, owner_id: int) -> Iterator[tuple[str, Amounts, object]]:
        """The quotas that apply to somebody's jobs in a project: scope, quota, whose."""
        if project_id in self.projects:
            yield "project", self.projects[project_id], project_id
        if (project_id, owner_id) in self.users:
            yield "user", self.users[project_id, owner_id], (project_id, owner_id)


class Usage:
    """What is in use by project and by user: in all, and firmly (by jobs that cannot be preempted)."""

    def __init__(self, quotas: Quotas, capacity: Amounts) -> None:
        self.quotas = quotas
        self._capacity = capacity
        self._all: dict[object, dict[str, float]] = {}
        self._firm: dict[object, dict[str, float]] = {}
        self._shares: dict[int, float] = {}

    def add(self, project_id: int, owner_id: int, demand: Amounts, *, is_preemptible: bool, sign: int = 1) -> None:
        for whose in (project_id, (project_id, owner_id)):
            for table in (self._all,) if is_preemptible else (self._all, self._firm):
                mine = table.setdefault(whose, {})
                for name, amount in demand.items():
                    mine[name] = mine.get(name, 0.0) + sign * amount
        self._shares.pop(project_id, None)

    def used(self, whose: object) -> Amounts:
        return self._all.get(whose, {})

    def firmly_used(self, whose: object) -> Amounts:
        return self._firm.get(whose, {})

    def share(self, project_id: int) -> float:
        """The largest share of any resource that the project holds (its dominant share)."""
        known = self._shares.get(project_id)
        if known is None:
            mine = self._all.get(project_id, {})
            shares = (mine[name] / self._capacity[name] for name in mine if self._capacity.get(name, 0) > 0)
            known = self._shares[project_id] = max(shares, default=0.0)
        return known

    def limit(self, project_id: int, owner_id: int, demand: Amounts, *, is_preemptible: bool) -> Limit | None:
        """The quota that the job would go beyond; None while it is within all of them.

        Preemptible jobs may go beyond, on what is idle. They do not count against what is held firmly.
        """
        table = self._all if is_preemptible else self._firm
        for scope, quota, whose in self.quotas.of(project_id, owner_id):
            mine = table.get(whose, {})
            for name, most in quota.items():
                asked = demand.get(name, 0.0)
                if asked and mine.get(name, 0.0) + asked > most + _SLACK:
                    return Limit(scope, name, most, mine.get(name, 0.0), asked)
        return None

    def is_borrowing(self, project_id: int) -> bool:
        """Whether the project holds more than its quota of something."""
        quota = self.quotas.projects.get(project_id, {})
        mine = self._all.get(project_id, {})
        return any(mine.get(name, 0.0) > most + _SLACK for name, most in quota.items())
