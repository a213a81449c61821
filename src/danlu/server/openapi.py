"""How answers that are not JSON are described in OpenAPI."""

from __future__ import annotations

from typing import Any

_RAW = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

BYTES: dict[int | str, dict[str, Any]] = {200: {"description": "The bytes", "content": _RAW}}
PARTS: dict[int | str, dict[str, Any]] = {**BYTES, 206: {"description": "The asked part of the bytes", "content": _RAW}}
_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}, "id": {"type": "string"}},
}
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events; data is JSON", "content": {"text/event-stream": {"schema": _EVENT}}}
}
TAKES_BYTES: dict[str, Any] = {"requestBody": {"required": True, "content": _RAW}}
