"""Signatures as the Standard Webhooks specification has them: receivers check them with its libraries.

    webhook-id           msg_...                              the same at every try
    webhook-timestamp    1735732800                           seconds since 1970 of this try
    webhook-signature    v1,<base64 of HMAC-SHA256(secret, "<id>.<timestamp>.<body>")>

The secret is `whsec_` and the base64 of 32 random bytes.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

PREFIX = "whsec_"


def make_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def sign(secret: str, message_id: str, *, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of a delivery."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    content = f"{message_id}.{timestamp}.".encode() + body
    mac = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {"webhook-id": message_id, "webhook-timestamp": str(timestamp), "webhook-signature": f"v1,{mac}"}
