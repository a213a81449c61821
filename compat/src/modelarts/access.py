"""Which server, and whose key."""

from __future__ import annotations

from typing import Optional

from danlu.client import Client
from danlu.inside import inside_job

KEY_PREFIX = "dk-"


def open_client(access_key: Optional[str], secret_key: Optional[str], server: Optional[str] = None) -> Client:
    """Inside a job its own identity. Elsewhere a Danlu key as its two halves, `dk-...` and what comes behind the dot,
    for `server` if that is given; else what `danlu login` keeps: keys and addresses of the cloud are not used."""
    if inside_job() is not None or not (access_key and secret_key and access_key.startswith(KEY_PREFIX)):
        return Client()
    url = server if server and server.startswith(("http://", "https://")) else None
    return Client(url=url, api_key=f"{access_key}.{secret_key}")
