"""Reusable memory for batches.

A fresh 38 MB batch costs more in page faults than its images cost in resizing. Each batch is a tensor over a view of a
long-lived array; when the last tensor over it is released, the array returns to the shelf. Memory in use is never
overwritten: a program that keeps every batch gets new memory each time.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from danlu_accel.records.recipe import Recipe

if TYPE_CHECKING:
    import torch

Pixels = npt.NDArray[Any]
ALIGNMENT = 64


class BatchMemory:
    """Memory for the batches of a recipe."""

    def __init__(self, recipe: Recipe, batch_size: int, pinned: bool) -> None:
        shape, dtype = _image_layout(recipe)
        self._is_channels_last = recipe.channels_last
        self._shelf = Shelf((batch_size, *shape), dtype, pinned)

    @property
    def num_made(self) -> int:
        return self._shelf.num_made

    def take(self, count: int) -> Pixels:
        """Return unused memory for `count` images, contiguous."""
        return self._shelf.take(count)

    def as_images(self, room: Pixels) -> torch.Tensor:
        """Return memory from `take` as a tensor of shape N, C, H, W."""
        import torch

        images = torch.from_numpy(room)
        return images.permute(0, 3, 1, 2) if self._is_channels_last else images


def empty_image(recipe: Recipe) -> Pixels:
    """Return memory for one image. It is never reused."""
    return _aligned(*_image_layout(recipe))


class Shelf:
    """A pool of arrays of one shape and type."""

    def __init__(self, shape: tuple[int, ...], dtype: npt.DTypeLike, pinned: bool = False) -> None:
        self._shape = shape
        self._dtype = np.dtype(dtype)
        self._pinned = pinned
        self._free: list[tuple[Pixels, Any]] = []
        self._lent: dict[int, weakref.ref[Pixels]] = {}
        self.num_made = 0

    def has_room_for(self, count: int, row: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
        """Whether `count` rows of this shape and type can be taken."""
        return count <= self._shape[0] and row == self._shape[1:] and dtype == self._dtype

    def take(self, count: int) -> Pixels:
        """Return the first `count` rows of an unused array."""
        if self._free:
            array, event = self._free.pop()
            if event is not None:
                event.synchronize()  # a copy to the device may still be reading it
        else:
            array = self._make()
            self.num_made += 1
        view = array[:count]  # not a view of this view: that would refer to the array and not keep this view alive
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

        dtype = torch.from_numpy(np.empty(0, self._dtype)).dtype
        pinned: Pixels = torch.empty(self._shape, dtype=dtype, pin_memory=True).numpy()
        return pinned


def _image_layout(recipe: Recipe) -> tuple[tuple[int, ...], np.dtype[Any]]:
    sides = (recipe.height, recipe.width, 3) if recipe.channels_last else (3, recipe.height, recipe.width)
    return sides, np.dtype(np.uint8 if recipe.as_bytes else np.float32)


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Pixels:
    """Allocate memory that begins on a cache line: the core then writes past the caches, which is faster."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)
