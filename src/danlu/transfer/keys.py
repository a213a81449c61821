"""Which file names the store can hold. The server has the last word; asking here first spares it the bytes."""

from __future__ import annotations

MAX_KEY_BYTES = 900
MAX_PART_BYTES = 240


def why_no_key(key: str) -> str:
    """Say what keeps a path from being a key of the store; empty when nothing does."""
    parts = key.split("/")
    if any("\ud800" <= char <= "\udfff" for char in key):
        return "its name is not valid UTF-8"
    if any(ord(char) < 32 or char in "\x7f\\" for char in key):
        return "its name has a control character or a backslash"
    if any(part in ("", ".", "..") for part in parts):
        return "its name has an empty part, '.' or '..'"
    if any(part.startswith(".partial.") for part in parts):
        return "names beginning with '.partial.' are kept for unfinished uploads"
    if len(key.encode()) > MAX_KEY_BYTES or any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        return f"its name is too long: {MAX_PART_BYTES} bytes per part and {MAX_KEY_BYTES} in all are the most"
    return ""
