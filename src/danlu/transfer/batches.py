"""Small files travel many at a time: a request each would cost more than their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Callable, TypeVar

from danlu.content.packs import SMALL_BYTES

BATCH_BYTES, BATCH_FILES = 4 << 20, 200
T = TypeVar("T")


def in_batches(
    items: Iterable[T], *, size: Callable[[T], int], group: Callable[[T], str] = lambda _: ""
) -> Iterator[list[T]]:
    """Small ones together, each large one by itself; all of a list are of one group."""
    batch: list[T] = []
    num_bytes = 0
    for item in items:
        item_bytes = size(item)
        if item_bytes > SMALL_BYTES:
            yield [item]
            continue
        is_full = len(batch) == BATCH_FILES or num_bytes + item_bytes > BATCH_BYTES
        if batch and (is_full or group(batch[0]) != group(item)):
            yield batch
            batch, num_bytes = [], 0
        batch.append(item)
        num_bytes += item_bytes
    if batch:
        yield batch
