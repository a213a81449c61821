"""Events that users are notified of: in the console, by webhook, by e-mail."""

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
    """Sent when a user tests a webhook."""


ENDS = {
    JobState.SUCCEEDED: EventKind.JOB_SUCCEEDED,
    JobState.FAILED: EventKind.JOB_FAILED,
    JobState.STOPPED: EventKind.JOB_STOPPED,
}
"""State of an ended job -> the event."""


class DeliveryState(Word):
    WAITING = "waiting"
    """Waits for its first try or a retry."""

    DELIVERED = "delivered"
    FAILED = "failed"
    """The last try has failed."""


class HookScope(Word):
    """Whose events a webhook hears of."""

    MINE = "mine"
    """Jobs of the user who created it."""

    PROJECT = "project"
    """All jobs of a project. Only owners of the project may choose it."""

    ALL = "all"
    """All events, including alerts of the platform. Only admins may choose it."""
