"""Server-sent events as tests read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.support.world import Api

Told = tuple[str, dict[str, Any]]


def told(api: Api, path: str, **params: str) -> list[Told]:
    """The events of a stream that ends."""
    return list(events(api("GET", path, params=params).text.splitlines()))


def events(lines: Iterable[str]) -> Iterator[Told]:
    """Names of events and what they say, as they come."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield name, json.loads(line[6:])
