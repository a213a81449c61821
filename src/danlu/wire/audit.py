"""The audit log on the wire."""

from __future__ import annotations

from typing import Any, Optional

from danlu.wire.base import Answer, Moment


class AuditOut(Answer):
    """A change: who, what, when, from where."""

    id: int
    at: Moment
    actor: str
    """A user name, a job id, or empty for a request without credentials."""

    action: str
    """Such as `project.make`."""

    object: str
    """Such as `project/vision`, `user/ada`, `job/train-123`, `bucket/main`, `key/a1b2`."""

    project: Optional[str] = None
    address: str
    via: str
    """`key <id>`, `session <id>` or `token` of a job."""

    details: dict[str, Any]
    count: int
    """Number of equal events within a minute that this one counts."""
