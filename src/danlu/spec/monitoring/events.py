"""Events that people hear of: in the console, by webhook, by e-mail."""

from __future__ import annotations

from danlu.spec.states import JobState, Word


class EventKind(Word):
    JOB_SUCCEEDED = "job.succeeded"
    JOB_FAILED = "job.failed"
    JOB_STOPPED = "job.stopped"
    ALERT_OPENED = "alert.opened"
    ALERT_CLOSED = "alert.closed"
    RUN_ALERT = "run.alert"
    """A script called `run.alert`."""

    TEST = "test"
    """Sent when somebody tries a webhook out."""


ENDS = {
    JobState.SUCCEEDED: EventKind.JOB_SUCCEEDED,
    JobState.FAILED: EventKind.JOB_FAILED,
    JobState.STOPPED: EventKind.JOB_STOPPED,
}
"""State of an ended job -> the event."""


class DeliveryState(Word):
    WAITING = "waiting"
    """To be tried, or tried again."""

    DELIVERED = "delivered"
    FAILED = "failed"
    """Tried for the last time."""


class HookScope(Word):
    """Whose events a webhook hears of."""

    MINE = "mine"
    """Jobs of the person who made it."""

    PROJECT = "project"
    """All jobs of a project; for its owners."""

    ALL = "all"
    """Everything, the platform's own alerts included; for admins."""
