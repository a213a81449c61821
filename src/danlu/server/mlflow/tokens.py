"""Page tokens: where the next page begins."""

from __future__ import annotations

import base64
import binascii

from danlu.errors import InvalidInput


def token_of(offset: int) -> str:
    return base64.urlsafe_b64encode(str(offset).encode()).decode()


def offset_in(token: str) -> int:
    """0 for no token."""
    if not token:
        return 0
    try:
        text = base64.urlsafe_b64decode(token.encode()).decode("ascii")
        if text.isdigit() and len(text) < 16:
            return int(text)
    except (binascii.Error, ValueError):
        pass
    raise InvalidInput(f"page_token: expected one from an earlier page, got {token[:40]!r}")
