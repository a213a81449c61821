"""The audit log on the wire."""

from __future__ import annotations

from typing import Any, Optional

from danlu.wire.base import Answer, Moment


class AuditOut(Answer):
    """A change: who, what, when, from where."""

    id: int
    at: Moment
    actor: str
    """A person's name, a job's id, or nothing for somebody who was not signed in."""

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
    """How many of the same in a row, within a minute, this stands for."""
