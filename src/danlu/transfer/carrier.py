"""What the senders and fetchers of artifacts need of a connection to the server."""

from __future__ import annotations

from typing import Any, Callable, Optional, Protocol

Told = Callable[[str, int, bool], None]
"""Called with a file, a number of its bytes that are done now, and whether they had to travel. From any thread."""


class Carrier(Protocol):
    """Safe to use from several threads. Every call may be made again after it broke off."""

    def ask(self, method: str, path: str, values: Any = None) -> Any:
        """JSON there and back."""

    def send(self, path: str, data: bytes) -> Any:
        """POST bytes; the answer is JSON."""

    def fetch(self, method: str, path: str, values: Optional[Any] = None) -> bytes:
        """JSON there, bytes back."""

    def rest(self) -> None:
        """The thread that calls this makes no more calls for now: what it holds may be closed."""


class Damaged(Exception):
    """Bytes that are not what was announced: a file changed while it was read, or other bytes arrived."""


def quiet(_file: str, _num_bytes: int, _has_travelled: bool) -> None:
    """For those who do not want to be told."""
