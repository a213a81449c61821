"""`login` and `logout`: the server for uploads of this process."""

from __future__ import annotations

import logging
from typing import NamedTuple, Optional
from urllib.parse import urlsplit

from danlu.inside import inside_job
from danlu.transfer.api import Api
from danlu.transfer.carrier import Credentials
from danlu.transfer.errors import Refused, ServerAway
from danlu.transfer.http_carrier import HttpCarrier
from danlu.transfer.retrying import Retry
from t9k.config import CONFIG
from t9k.em.errors import cannot_connect

PATIENCE_SECONDS = 30.0
"""How long to wait for a server that has answered before."""


class Session(NamedTuple):
    api: Api
    host: str
    user: str


_session: Optional[Session] = None


def login(ais_host: Optional[str] = None, api_key: Optional[str] = None, timeout: Optional[float] = None) -> None:
    """Log in to a Danlu server; address and API key default to those of `t9k.CONFIG`.

    Inside a job the job's own credentials are used, and the arguments ignored.
    """
    global _session  # noqa: PLW0603
    host: Optional[str]
    key: Optional[Credentials]
    job = inside_job()
    if job is not None:
        host, key = job.url, job.token
    else:
        host, key = ais_host or CONFIG["aistore_host"], api_key or CONFIG["api_key"]
    if not host:
        raise ValueError("AIStore host not provided")
    if not key:
        raise ValueError("API Key not provided")
    if urlsplit(host).scheme not in ("http", "https") or not urlsplit(host).hostname:
        raise ValueError(f"{host!r} is not the address of a server; expected http://127.0.0.1:8400")
    api = Api(HttpCarrier(host, key), Retry(timeout or PATIENCE_SECONDS, first_seconds=timeout or 0.0))
    try:
        me = api.get("/me")
    except Refused as refused:
        api.carrier.close()
        if refused.status == 403:
            raise RuntimeError("Permission denied") from refused
        raise RuntimeError("API Key not found") from refused
    except ServerAway as error:
        raise cannot_connect(f"no server answers at {host}: {error}") from error
    _session = Session(api, host, str(me.get("name", "")))


def logout() -> None:
    """Log out; only logs a warning if not logged in."""
    global _session  # noqa: PLW0603
    if _session is None:
        logging.getLogger("t9k.em").warning("Not logged in")
    else:
        _session.api.carrier.close()
    _session = None


def session() -> Session:
    if _session is None:
        raise RuntimeError("Not logged in")
    return _session
