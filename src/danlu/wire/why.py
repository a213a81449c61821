"""Why a job waits, on the wire."""

from __future__ import annotations

from typing import Optional

from danlu.spec.messages.catalogue import Message
from danlu.spec.reasons import Reason
from danlu.spec.states import JobState
from danlu.wire.base import Answer, Moment


class AmountOut(Answer):
    resource: str
    asked: float
    """In all."""

    free: float
    """On all nodes together, whether or not it is where it would be needed."""

    total: float


class LimitOut(Answer):
    scope: str
    """`project` or `user`: whose quota it is."""

    resource: str
    quota: float
    used: float
    asked: float


class EstimateOut(Answer):
    starts_at: Moment
    """Not later than this there is room for it, if nothing that is ahead takes it."""

    basis: str


class WhyOut(Answer):
    """Why a job is in its state; for one that waits, all that is known about it."""

    job: str
    state: JobState
    reason: Reason
    sentence: str
    """All of this for people, in English."""

    said: list[Message] = []
    """The parts of the sentence, the reason first, with codes and parameters: for other languages."""

    resources: list[AmountOut] = []
    num_tasks: int = 0
    num_places: int = 0
    """How many of its tasks would find a place now."""

    num_ahead: int = 0
    """Jobs of its project that come before it."""

    ahead: list[str] = []
    """The first of them."""

    num_projects_ahead: int = 0
    """Other projects with waiting jobs that hold less, and so come first."""

    limit: Optional[LimitOut] = None
    estimate: Optional[EstimateOut] = None
    would_help: list[str] = []
    would_help_said: list[Message] = []
    """The same, with codes and parameters."""
