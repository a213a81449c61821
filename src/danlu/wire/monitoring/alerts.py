"""Alerts on the wire."""

from __future__ import annotations

from typing import Optional, Union

from danlu.spec.monitoring.alerts import AlertKind
from danlu.wire.base import Answer, Moment

Detail = Union[str, int, float, None]


class AlertOut(Answer):
    id: int
    kind: AlertKind
    job: Optional[str]
    """None: it is about the platform."""

    project: Optional[str]
    attempt: int
    message: str
    remedy: str
    details: dict[str, Detail]
    opened_at: Moment
    closed_at: Optional[Moment]
    """None while it is so."""
