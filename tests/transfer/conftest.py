"""All carriers: what is true of one is true of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import httpx
import pytest

from danlu.client.carrier import HttpxCarrier
from danlu.client.http import Http
from danlu.transfer.carrier import PREFIX, Carrier
from danlu.transfer.http_carrier import HttpCarrier

MakeCarrier = Callable[..., Carrier]


@pytest.fixture(params=["http.client", "httpx", "the client's"])
def make_carrier(request: pytest.FixtureRequest) -> Iterator[MakeCarrier]:
    """Makes carriers to an address, with a token."""
    with ExitStack() as stack:

        def make(url: str, token: str = "token") -> Carrier:
            if request.param == "http.client":
                return stack.enter_context(closing(HttpCarrier(url, token)))
            # HTTPS, and addresses behind a proxy, are httpx's
            if request.param == "httpx":
                headers = {"Authorization": f"Bearer {token}"}
                client = stack.enter_context(httpx.Client(base_url=url + PREFIX, headers=headers, trust_env=False))
                return stack.enter_context(closing(HttpxCarrier(client)))
            return stack.enter_context(closing(Http(url, token))).carrier

        yield make
