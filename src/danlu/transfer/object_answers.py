"""Answers that carry an object, or a range of one: from the server, or from the object service that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Optional

from danlu.transfer.api import Api, quote
from danlu.transfer.carrier import Answer, Granted
from danlu.transfer.errors import Damaged, Disconnected, Refused

SHA256_HEADER = "X-Danlu-SHA256"
DIRECT_HEADER = "X-Danlu-Direct"
"""Says that we could fetch from the object service ourselves; the answer may then be where."""

_SERVICE_SHA256 = "x-amz-meta-danlu-sha256"


class About(NamedTuple):
    """What is known of the bytes that come. Answers with another ETag or size are of another object."""

    size: int
    etag: str
    sha256: Optional[str]

    def is_same(self, other: About) -> bool:
        return (self.size, self.etag) == (other.size, other.etag)


def object_path(bucket: str, key: str) -> str:
    """The path of an object in the API."""
    return f"/buckets/{quote(bucket)}/objects/{quote(key)}"


def about_of(answer: Answer) -> About:
    """What the head of an answer says of the object."""
    stretch, _, total = answer.header("Content-Range").rpartition("/")
    size = total if stretch else answer.header("Content-Length")
    if not size.isdigit():
        raise Damaged(f"an answer that does not tell the size of the object; expected a number, got {size!r:.80}")
    sha256 = answer.header(SHA256_HEADER) or answer.header(_SERVICE_SHA256)
    return About(int(size), answer.header("ETag"), sha256 or None)


def is_range_from(answer: Answer, begin: int) -> bool:
    """Whether an answer has the bytes from `begin` on. Some services answer 200 to a range, and say so in a header."""
    return answer.header("Content-Range").startswith(f"bytes {begin}-")


def range_headers(begin: int, end: Optional[int] = None) -> dict[str, str]:
    """Ask for the bytes from `begin` to before `end`."""
    plain = {"Accept-Encoding": "identity"}
    if begin == 0 and end is None:
        return plain
    return {**plain, "Range": f"bytes={begin}-{'' if end is None else end - 1}"}


@contextmanager
def open_at_service(api: Api, url: str, headers: Mapping[str, str]) -> Iterator[Answer]:
    """Read with a grant. An expired grant counts as a broken connection: the next attempt gets a new one."""
    try:
        with api.open_granted(Granted("GET", url, headers=headers)) as answer:
            yield answer
    except Refused as refused:
        if refused.status == 404:
            raise
        raise Disconnected(refused.message) from refused
