"""Batch memory that is used again as soon as nobody looks at it any more.

A fresh 38 MB batch costs more in page faults than its images cost in resizing. Each batch is handed out as a tensor
over a view of a long-lived array; when the last tensor over it is gone, the view dies and its array goes back to the
shelf. Nothing is overwritten while somebody holds it: whoever keeps every batch simply gets new memory each time.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[Any]
ALIGNMENT = 64


class Shelf:
    """Arrays of one shape and type."""

    def __init__(self, shape: tuple[int, ...], dtype: npt.DTypeLike, pinned: bool = False) -> None:
        self._shape = shape
        self._dtype = np.dtype(dtype)
        self._pinned = pinned
        self._free: list[tuple[Pixels, Any]] = []
        self._lent: dict[int, weakref.ref[Pixels]] = {}
        self.num_made = 0

    def take(self, count: int) -> Pixels:
        """Return the first `count` rows of an array nobody else has."""
        if self._free:
            array, event = self._free.pop()
            if event is not None:
                event.synchronize()  # a copy to the device may still be reading it
        else:
            array = self._make()
            self.num_made += 1
        view = array[:count]  # a view of this view would not keep it alive: numpy points it at the array itself
        number = id(view)
        self._lent[number] = weakref.ref(view, lambda _: self._give_back(number, array))
        return view

    def _give_back(self, number: int, array: Pixels) -> None:
        self._lent.pop(number, None)
        event = None
        if self._pinned:
            import torch

            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record(torch.cuda.current_stream())
        self._free.append((array, event))

    def _make(self) -> Pixels:
        if not self._pinned:
            return _aligned(self._shape, self._dtype)
        import torch

        dtype = torch.uint8 if self._dtype == np.uint8 else torch.float32
        pinned: Pixels = torch.empty(self._shape, dtype=dtype, pin_memory=True).numpy()
        return pinned


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Pixels:
    """Memory that begins on a cache line: the core then writes past the caches, which is faster."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)
