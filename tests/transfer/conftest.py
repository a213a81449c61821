"""Both carriers: what is true of one is true of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Union

import pytest

from danlu.client.http import Http
from danlu.transfer.carrier import Carrier
from danlu.transfer.http_carrier import HttpCarrier

MakeCarrier = Callable[..., Carrier]


@pytest.fixture(params=["http.client", "httpx"])
def make_carrier(request: pytest.FixtureRequest) -> Iterator[MakeCarrier]:
    """Makes carriers to an address, with a token."""
    made: list[Union[Http, HttpCarrier]] = []

    def make(url: str, token: str = "token") -> Carrier:
        if request.param == "http.client":
            carrier = HttpCarrier(url, token)
            made.append(carrier)
            return carrier
        http = Http(url, token)
        made.append(http)
        return http.carrier

    yield make
    for one in made:
        one.close()
