"""The host names of endpoints: one label below a domain, so that one wildcard certificate is enough.

train-1700000000000-8080.localhost    ->    job train-1700000000000, endpoint 8080
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

_LABEL = re.compile(r"(train-[0-9]{1,20})-([a-z]{1,20}|[0-9]{1,5})")


class Place(NamedTuple):
    job_id: str
    endpoint: str


class EndpointNames:
    def __init__(self, url: str) -> None:
        """`url` has an asterisk for the label: http://*.localhost:8401"""
        self._url = url
        self._domain = urlsplit(url).netloc.lower().removeprefix("*")
        self.is_secure = url.startswith("https://")

    def origin(self, place: Place) -> str:
        """Scheme, host and port, as browsers put them into the header Origin."""
        return self._url.replace("*", f"{place.job_id}-{place.endpoint}", 1).lower()

    def find(self, host: str) -> Place | None:
        """The endpoint that a Host header names; None for every other name."""
        given = host.lower()
        if not given.endswith(self._domain):
            return None
        found = _LABEL.fullmatch(given[: -len(self._domain)])
        return None if found is None else Place(found[1], found[2])
