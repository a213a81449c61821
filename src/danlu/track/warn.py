"""One warning per problem. Never an exception: `warnings` could be set to raise, so this is a log line."""

from __future__ import annotations

import logging

_LOG = logging.getLogger("danlu.track")
_told: set[str] = set()


def warn_once(problem: str, message: str) -> None:
    """Tell it, unless a warning of the same `problem` was told in this process before."""
    if problem in _told:
        return
    _told.add(problem)
    _LOG.warning("danlu.track: %s", message)


def forget() -> None:
    """Warn again; for a new run."""
    _told.clear()
