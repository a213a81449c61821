"""Batches that DataLoader's default collate function returns as they are, instead of copying them row by row.

`IndexTFRDataset.__getitems__` makes all images of a batch in one tensor, in shared memory if in a worker, and returns
its rows. PyTorch's extensible table of collate functions maps such rows back to the tensor. A user's own collate_fn
sees ordinary (image, label) tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from danlu_accel.records.recipe import Recipe


class BatchRow(tuple[Any, Any]):
    """An (image, label) or (image, Objects) tuple that knows its row and its batch."""

    batch: Any
    targets: list[Any]
    row: int

    def __new__(cls, batch: Any, targets: list[Any], row: int) -> BatchRow:
        made = super().__new__(cls, (batch[row], targets[row]))
        made.batch, made.targets, made.row = batch, targets, row
        return made

    def __reduce__(self) -> Any:
        return tuple, (tuple(self),)


def empty_batch(count: int, recipe: Recipe) -> Any:
    """Return memory for `count` images, shared with the main process if called in a DataLoader worker."""
    import torch
    from torch.utils.data import get_worker_info

    _extend_default_collate()
    dtype = torch.uint8 if recipe.as_bytes else torch.float32
    shape = (count, 3, recipe.height, recipe.width)
    if count == 1 or get_worker_info() is None:
        return torch.empty(shape, dtype=dtype)
    num_bytes = count * 3 * recipe.height * recipe.width * dtype.itemsize
    storage = torch.UntypedStorage._new_shared(num_bytes)  # type: ignore[no-untyped-call]
    return torch.empty(0, dtype=dtype).set_(storage, 0, shape)  # type: ignore[call-overload]


def _extend_default_collate() -> None:
    from torch.utils.data._utils.collate import default_collate_fn_map

    default_collate_fn_map.setdefault(BatchRow, _collate_rows)


def _collate_rows(rows: list[BatchRow], *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> list[Any]:
    import torch
    from torch.utils.data._utils.collate import collate

    first = rows[0]
    is_whole = len(rows) == len(first.batch) and all(
        row.batch is first.batch and row.row == n for n, row in enumerate(rows)
    )
    if not is_whole:  # a subset or another order of the rows
        plain: list[Any] = collate([tuple(row) for row in rows], collate_fn_map=collate_fn_map)
        return plain
    has_labels = isinstance(first.targets[0], int)
    return [first.batch, torch.tensor(first.targets) if has_labels else first.targets]
