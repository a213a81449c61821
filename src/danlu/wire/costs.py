"""Costs on the wire: what jobs cost so far, by project and user."""

from __future__ import annotations

from typing import Optional

from danlu.spec.money import Money
from danlu.wire.base import Answer, Moment


class CostRow(Answer):
    """What the jobs of one user in one project cost."""

    project: str
    user: str
    currency: str
    """Code of three letters. Jobs keep the currency that they were submitted with."""

    num_jobs: int
    hours: float
    """Time that their attempts held devices, added up; a job of two nodes counts once."""

    cost: Money


class CostsOut(Answer):
    since: Optional[Moment] = None
    until: Moment
    items: list[CostRow]
    """By project and user. Jobs without a flavor cost nothing, and deleted ones are not counted."""
