"""How much of each resource projects and users hold, and their quotas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Amounts = Mapping[str, float]
_SLACK = 1e-6
"""Tolerance for rounding errors in sums of fractional cpus."""


class Limit(NamedTuple):
    """A quota that the job would exceed."""

    scope: str
    """`project` or `user`."""

    resource: str
    quota: float
    used: float
    asked: float


@dataclass(frozen=True, slots=True)
class Quotas:
    """Resource -> how much a project or one of its users may hold with non-preemptible jobs. Others are unlimited."""

    projects: Mapping[int, Amounts] = field(default_factory=dict)
    users: Mapping[tuple[int, int], Amounts] = field(default_factory=dict)
    """(project, user) -> quota."""

    def of(self, project_id: int, owner_id: int) -> Iterator[tuple[str, Amounts, object]]:
        """The quotas that apply to a user's jobs in a project: scope, quota, key of the holdings."""
        if project_id in self.projects:
            yield "project", self.projects[project_id], project_id
        if (project_id, owner_id) in self.users:
            yield "user", self.users[project_id, owner_id], (project_id, owner_id)


class Holdings:
    """What projects and users hold: in total, and firmly, which is by jobs that are not preemptible."""

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

    def held(self, whose: object) -> Amounts:
        return self._all.get(whose, {})

    def firmly_held(self, whose: object) -> Amounts:
        return self._firm.get(whose, {})

    def share(self, project_id: int) -> float:
        """The project's dominant share: its largest share of any resource."""
        known = self._shares.get(project_id)
        if known is None:
            mine = self._all.get(project_id, {})
            shares = (mine[name] / self._capacity[name] for name in mine if self._capacity.get(name, 0) > 0)
            known = self._shares[project_id] = max(shares, default=0.0)
        return known

    def limit(self, project_id: int, owner_id: int, demand: Amounts, *, is_preemptible: bool) -> Limit | None:
        """The quota that the job would exceed; None when it exceeds none.

        Preemptible jobs may exceed a quota on idle resources. They do not count against the firm holdings.
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
