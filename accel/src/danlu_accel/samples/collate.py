"""Join a list of samples into a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from danlu_accel.samples.audio import Audio

if TYPE_CHECKING:
    import torch


def collate(samples: list[Any]) -> Any:
    """Return a dict of fields: numbers and arrays of one shape as a tensor, everything else as a list.

    Samples that are not dicts, because a transform returned something else, are joined like one field. A field that
    some samples lack is None for these.
    """
    if not all(isinstance(sample, dict) for sample in samples):
        return join(samples)
    names = dict.fromkeys(name for sample in samples for name in sample)
    return {name: join([sample.get(name) for sample in samples]) for name in names}


def join(values: list[Any]) -> Any:
    """Return a tensor if the values are numbers, or arrays or tensors of one shape and type; else the list."""
    import torch

    first = values[0]
    if all(isinstance(each, Audio) for each in values):
        sounds = join([each.samples for each in values])
        return values if isinstance(sounds, list) else Audio(sounds, join([each.rate for each in values]))
    if all(isinstance(each, int) and -(1 << 63) <= each < 1 << 63 for each in values):
        return torch.tensor([int(each) for each in values])
    if all(isinstance(each, float) for each in values):
        return torch.tensor(values, dtype=torch.float32)
    if _is_even(values, np.ndarray) and first.dtype.kind in "fiub":
        return torch.from_numpy(np.stack(values))
    return torch.stack(values) if _is_even(values, torch.Tensor) else values


def pad(values: Sequence[Any], value: float = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return arrays or tensors of different last dimension as one tensor, padded at the end, and their lengths."""
    import torch

    rows = [torch.as_tensor(each) for each in values]
    if not rows or any(row.dim() == 0 or row.shape[:-1] != rows[0].shape[:-1] for row in rows):
        shapes = [tuple(row.shape) for row in rows]
        raise ValueError(f"values: expected shapes that differ in their last dimension only, got {shapes[:8]}")
    lengths = torch.tensor([row.shape[-1] for row in rows])
    padded = torch.full((len(rows), *rows[0].shape[:-1], int(lengths.max())), value, dtype=rows[0].dtype)
    for place, row in zip(padded, rows):
        place[..., : row.shape[-1]] = row
    return padded, lengths


def _is_even(values: list[Any], kind: type[Any]) -> bool:
    if not all(isinstance(each, kind) for each in values):
        return False
    return len({(each.shape, each.dtype) for each in values}) == 1
