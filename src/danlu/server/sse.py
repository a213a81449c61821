"""Server-sent events."""

from __future__ import annotations

from typing import Optional

from pydantic import BaseModel

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE_SECONDS = 15.0


def event(name: str, data: BaseModel, event_id: Optional[str] = None) -> bytes:
    """One event. JSON has no line breaks of its own, so one data line is enough."""
    head = f"id: {event_id}\n" if event_id is not None else ""
    return f"{head}event: {name}\ndata: {data.model_dump_json()}\n\n".encode()


class Frame:
    """Whole events, encoded once for all clients that get the same bytes."""

    __slots__ = ("chunked", "plain")

    def __init__(self, plain: bytes) -> None:
        self.plain = plain
        self.chunked = b"%x\r\n%b\r\n" % (len(plain), plain)
        """With the chunk header of HTTP/1.1."""


KEEP_ALIVE = Frame(b": still here\n\n")
