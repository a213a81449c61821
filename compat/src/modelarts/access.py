"""The server and credentials to use."""

from __future__ import annotations

import re
from typing import Optional
from urllib.parse import urlsplit

from danlu.client import Client
from danlu.inside import inside_job

KEY_PREFIX = "dk-"
_CLOUD = re.compile(r"(obs|iam|modelarts)[.-]|.*\.(myhuaweicloud\.com|ovaijisuan\.com)$")
"""Hosts of the cloud, which a configuration may still name. A Danlu key is not sent to them."""


def open_client(access_key: Optional[str], secret_key: Optional[str], server: Optional[str] = None) -> Client:
    """Inside a job, use the job's identity. Elsewhere, use a Danlu key given as two halves (`dk-...` and the part after
    the dot), for `server` if given, else the login of `danlu login`: keys and addresses of the cloud are ignored."""
    if inside_job() is not None or not (access_key and secret_key and access_key.startswith(KEY_PREFIX)):
        return Client()
    return Client(url=_address(server), api_key=f"{access_key}.{secret_key}")


def _address(server: Optional[str]) -> Optional[str]:
    if not server or not server.startswith(("http://", "https://")):
        return None
    return None if _CLOUD.match(urlsplit(server).hostname or "") else server
