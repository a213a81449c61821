"""Which server runs go to, and with which key: as the command line and the client find it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Optional

from danlu.transfer.http import Server

REQUEST_PATIENCE_SECONDS = 0.0


class Address(NamedTuple):
    url: str
    api_key: str


def find_address(environ: Mapping[str, str]) -> Optional[Address]:
    """The server and the key; None when nothing may be sent: switched off, no key, or inside a job.

    Inside a job the node's stager sends the journals, with the attempt's own token.
    """
    if environ.get("DANLU_TRACK") == "offline" or environ.get("DANLU_TOKEN_FILE"):
        return None
    try:
        from danlu.client.config import load_settings
    except ImportError:  # an image without yaml: the environment still counts
        url, key = environ.get("DANLU_URL"), environ.get("DANLU_API_KEY")
        return Address(url, key) if url and key else None
    found = load_settings(environ=environ)
    return Address(found.url, found.api_key) if found.api_key else None


def connect(address: Address) -> Server:
    """A server that is asked once per call: who syncs decides when to try again."""
    return Server(address.url, address.api_key, patience_seconds=REQUEST_PATIENCE_SECONDS, say=_quiet)


@contextmanager
def connected(address: Address) -> Iterator[Server]:
    """As `connect`; the connection is closed after it."""
    server = connect(address)
    try:
        yield server
    finally:
        server.drop()


def _quiet(_: str) -> None:
    return
