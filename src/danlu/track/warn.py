"""Warn once per problem, with a log line instead of `warnings`, which can be configured to raise."""

from __future__ import annotations

import logging

_LOG = logging.getLogger("danlu.track")
_told: set[str] = set()


def warn_once(problem: str, message: str) -> None:
    """Log a warning, unless this process has logged one for the same `problem`."""
    if problem in _told:
        return
    _told.add(problem)
    _LOG.warning("danlu.track: %s", message)


def forget() -> None:
    """Warn again; called for a new run."""
    _told.clear()
