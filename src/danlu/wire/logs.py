"""Log lines on the wire (SSE). Raw bytes are served as they are."""

from __future__ import annotations

from typing import Annotated, Optional

from pydantic import WithJsonSchema

from danlu.spec.states import JobState
from danlu.wire.base import Answer

# What reads descriptions of APIs knows lists of one type better than pairs.
Mark = Annotated[
    tuple[int, float], WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2})
]


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


class LogLines(Answer):
    """Where the lines of one rank's log are."""

    piece_bytes: int
    """The log is counted in pieces of this size."""

    offset: int
    """Where the first counted piece begins."""

    next_offset: Optional[int] = None
    """Where to continue; None at the end of what is stored."""

    rows: list[int]
    """Rows that the cursor of a terminal moves down in each piece; negative when it moves up."""

    marks: list[Mark]
    """Offset and Unix time: when the log had this length. Samples."""


class LogMatch(Answer):
    offset: int
    """Of its first byte."""

    line: int
    """Counted from 0."""

    text: str
    """Its end, when it is very long."""


class LogMatches(Answer):
    """Lines of one rank's log that match a pattern."""

    items: list[LogMatch]
    offset: int
    """How far the log was searched."""

    line: int
    """The number of the line there."""

    total: int
    """Bytes that are stored."""

    next_offset: Optional[int] = None
    """Where to continue, with `line`; None at the end."""
