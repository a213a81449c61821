"""Log lines on the wire (SSE). Raw bytes are served as they are."""

from __future__ import annotations

from danlu.spec.states import JobState
from danlu.wire.base import Answer


class LogChunk(Answer):
    """Event `log`: a piece of one rank's log, cut at line ends where there is one."""

    attempt: int
    rank: int
    offset: int
    """Of its first byte."""

    next_offset: int
    text: str


class LogTimes(Answer):
    """When parts of one rank's log were written, as it was seen about once a second."""

    attempt: int
    rank: int
    offset: list[int]
    """Lengths that the log had, each larger than the one before."""

    time: list[float]
    """When it had them, in seconds since 1970."""


class LogEnd(Answer):
    """Event `end`: nothing more will come."""

    attempt: int
    state: JobState
