"""The server and key for runs, found in the same way as by the command line and the client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Optional

from danlu.inside import inside_job
from danlu.transfer.api import Api
from danlu.transfer.carrier import Credentials
from danlu.transfer.http_carrier import HttpCarrier
from danlu.transfer.retrying import Retry

PATIENCE_SECONDS = 30.0
"""How long to wait for a server that has responded before, for example during a restart. After a wait in vain, nothing
else is waited for until a request succeeds: a hundred runs must not wait for a full disk one after the other."""


class Address(NamedTuple):
    url: str
    credentials: Credentials


def find_address(environ: Mapping[str, str]) -> Optional[Address]:
    """Return server and key; None when nothing may be sent: tracking is offline, or there is no key. A job uses its
    own."""
    if environ.get("DANLU_TRACK") == "offline":
        return None
    job = inside_job(environ)
    if job is not None:
        return Address(job.url, job.token)
    from danlu.client.config import load_settings

    try:
        found = load_settings(environ=environ)
    except ImportError:  # there is a file, and no yaml to read it: use the environment alone
        url, key = environ.get("DANLU_URL"), environ.get("DANLU_API_KEY")
        return Address(url, key) if url and key else None
    return Address(found.url, found.api_key) if found.api_key else None


def connect(address: Address) -> Api:
    """Return an API without retries, for callers that have other work to do."""
    return Api(HttpCarrier(address.url, address.credentials), Retry(0.0))


@contextmanager
def connected(address: Address) -> Iterator[Api]:
    """Yield an API that retries once the server has responded. Closes the connections at the end."""
    carrier = HttpCarrier(address.url, address.credentials)
    try:
        yield Api(carrier, Retry(PATIENCE_SECONDS, first_seconds=0.0))
    finally:
        carrier.close()
