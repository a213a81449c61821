"""`login` and `logout`: which server uploads go to, for this process."""

from __future__ import annotations

import http.client
import logging
from typing import NamedTuple, Optional
from urllib.parse import urlsplit

from danlu.transfer.http import Refused, Server
from t9k.config import CONFIG
from t9k.em.errors import cannot_connect

DEFAULT_TIMEOUT = 60.0


class Session(NamedTuple):
    server: Server
    host: str
    user: str


_session: Optional[Session] = None


def login(ais_host: Optional[str] = None, api_key: Optional[str] = None, timeout: Optional[float] = None) -> None:
    """Sign in to a Danlu server: its address and an API key, by default those of `t9k.CONFIG`."""
    global _session  # noqa: PLW0603
    host, key = ais_host or CONFIG["aistore_host"], api_key or CONFIG["api_key"]
    if not host:
        raise ValueError("AIStore host not provided")
    if not key:
        raise ValueError("API Key not provided")
    if urlsplit(host).scheme not in ("http", "https") or not urlsplit(host).hostname:
        raise ValueError(f"{host!r} is not the address of a server; http://127.0.0.1:8400 would be right")
    server = Server(host, key, patience_seconds=timeout or 0.0, say=lambda _: None)
    try:
        me = server.get_json("/me")
    except Refused as refused:
        server.drop()
        if refused.status == 403:
            raise RuntimeError("Permission denied") from refused
        raise RuntimeError("API Key not found") from refused
    except (OSError, http.client.HTTPException) as error:
        raise cannot_connect(f"no server answers at {host}: {error}") from error
    _session = Session(server, host, str(me.get("name", "")))


def logout() -> None:
    """Forget the server. Without one there is only a warning."""
    global _session  # noqa: PLW0603
    if _session is None:
        logging.getLogger("t9k.em").warning("Not logged in")
    else:
        _session.server.drop()
    _session = None


def session() -> Session:
    if _session is None:
        raise RuntimeError("Not logged in")
    return _session
