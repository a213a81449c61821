"""Quotas on the wire: how much a project and its people may hold, and how much of it is in use."""

from __future__ import annotations

from typing import Optional, Union

from pydantic import Field

from danlu.wire.base import Answer, Body

Amounts = dict[str, Union[float, str]]
"""Resource (a device type, `cpus` or `memory`) -> how much; memory also as text such as 64GB."""


class SetQuotas(Body):
    project: Optional[Amounts] = Field(default=None, max_length=50)
    """The quota of the whole project; what it does not name has no limit. Omitted: it stays as it is."""

    users: dict[str, Amounts] = Field(default_factory=dict, max_length=1000)
    """User -> their quota in the project, in the same way. Who is not named keeps theirs."""


class QuotaOut(Answer):
    resource: str
    quota: Optional[float] = None
    """None: no limit."""

    used: float = 0.0
    """By all jobs that have not ended."""

    firm: float = 0.0
    """By those that are not preemptible; only these count against the quota."""

    borrowed: float = 0.0
    """How much more is in use than the quota allows, by preemptible jobs."""

    free: Optional[float] = None
    """How much of the quota jobs that are not preemptible could still take; None: no limit."""


class UserQuotasOut(Answer):
    user: str
    quotas: list[QuotaOut]


class QuotasOut(Answer):
    project: str
    quotas: list[QuotaOut]
    users: list[UserQuotasOut]
    """Who has a quota or uses something."""
