"""What can go wrong while bytes move.

None of it is an OSError: code that handles errors of files must not catch problems of the network.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any, Optional

_TEMPORARY = frozenset({408, 425, 429})
_FINAL_OF_SERVER = frozenset({501, 505})
"""Statuses of 500 and more that will be the same the next time."""


class Refused(Exception):
    """The server answered, and the answer is no."""

    def __init__(
        self, status: int, message: str, *, error: str = "", fields: Optional[Mapping[str, Any]] = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.error = error
        """The server's name for the kind of problem, such as BadChecksum."""

        self.fields = dict(fields or {})

    @property
    def is_temporary(self) -> bool:
        """Whether the answer may be another one later: the server is starting, busy, broken or without room."""
        return self.status in _TEMPORARY or (self.status >= 500 and self.status not in _FINAL_OF_SERVER)


class Disconnected(Exception):
    """A connection broke, or was silent for too long. Raised by carriers, caught by the retry policy."""


class NotConnected(Disconnected):
    """There was no connection, so nothing was sent."""


class ServerAway(Exception):
    """The server did not answer for as long as the patience lasted. The text is what happened last."""


class Damaged(Exception):
    """Other bytes arrived than were announced, or an answer that makes no sense."""


class Replaced(Damaged):
    """The object became another one while it was fetched."""


class Changed(Exception):
    """A file changed while it was read or sent."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} changed while it was sent; send it again when nobody writes to it")


class Removed(Exception):
    """A file is no longer there, or no longer a file."""


class LocalProblem(Exception):
    """A file could not be read or written; waiting for the server would not help."""

    def __init__(self, path: str, error: OSError) -> None:
        self.path = path
        self.error = error
        self.why = error.strerror or str(error)
        super().__init__(f"{path}: {self.why}")
        self.is_disk_full = error.errno in (errno.ENOSPC, errno.EDQUOT)


class Stopped(Exception):
    """Another worker failed, or the caller cancelled."""
