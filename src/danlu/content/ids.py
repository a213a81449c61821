"""Ids of artifact versions. Clients make them, so that an upload that is sent again is the same one."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import Any


def new_artifact_id() -> str:
    """`art-` and 128 random bits in base32."""
    return _id(os.urandom(16))


def artifact_id_of(*values: Any) -> str:
    """The same id for the same values: for what is brought from elsewhere, any number of times."""
    return _id(hashlib.sha256(json.dumps(values).encode()).digest()[:16])


def _id(data: bytes) -> str:
    return "art-" + base64.b32encode(data).decode().rstrip("=").lower()
