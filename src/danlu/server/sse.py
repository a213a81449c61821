"""Server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Optional

from fastapi.responses import StreamingResponse
from pydantic import BaseModel

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
KEEP_ALIVE = b": still here\n\n"
KEEP_ALIVE_SECONDS = 15.0


def event(name: str, data: BaseModel, event_id: Optional[str] = None) -> bytes:
    """One event. JSON has no line breaks of its own, so one data line is enough."""
    head = f"id: {event_id}\n" if event_id is not None else ""
    return f"{head}event: {name}\ndata: {data.model_dump_json()}\n\n".encode()


def stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(events, media_type="text/event-stream", headers=HEADERS)
