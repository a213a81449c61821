"""The rest of a large object from the object service, several ranges at a time.

They arrive side by side and are taken in order, so that an unfinished file is always the beginning of the whole.
"""

from __future__ import annotations

import threading
from typing import Protocol

from danlu.transfer.api import Api
from danlu.transfer.carrier import Block
from danlu.transfer.crew import Crew
from danlu.transfer.errors import Stopped
from danlu.transfer.object_answers import About, about_of, is_range_from, open_at_service, range_headers

RANGE_BYTES = 8 << 20
NUM_PARALLEL = 4
_LOOK_SECONDS = 0.2


class NoRanges(Exception):
    """The service answers with the whole object, whatever is asked for."""


class Taker(Protocol):
    """Who takes the bytes, in order."""

    @property
    def size(self) -> int: ...

    @property
    def length(self) -> int:
        """How many of them it has."""

    def add(self, block: Block) -> None: ...

    def check(self, found: About) -> None:
        """Raise Replaced when an answer is of another object."""


def fetch_ranges(api: Api, url: str, taker: Taker) -> None:
    """Fetch what is missing. Raise NoRanges, and Disconnected when one of them broke off; those before it are taken."""
    turns = threading.Condition()

    def fetch(begin: int) -> None:
        end = min(begin + RANGE_BYTES, taker.size)
        with open_at_service(api, url, range_headers(begin, end)) as answer:
            if not is_range_from(answer, begin):
                raise NoRanges
            taker.check(about_of(answer))
            data = answer.read(RANGE_BYTES)
        with turns:
            while not turns.wait_for(lambda: taker.length == begin, _LOOK_SECONDS):
                if crew.has_failed.is_set():
                    raise Stopped
            taker.add(data)
            turns.notify_all()

    with Crew(fetch, NUM_PARALLEL) as crew:
        for begin in range(taker.length, taker.size, RANGE_BYTES):
            crew.put(begin)
