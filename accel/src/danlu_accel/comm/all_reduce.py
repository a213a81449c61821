"""Sums and averages outside of DDP, for scripts that call `all_reduce` themselves."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch.futures import Future

from danlu_accel.comm.attachment import Attachment, ThreadEngine
from danlu_accel.comm.opening import open_attachment
from danlu_accel.comm.pieces import Bucket
from danlu_accel.comm.settings import Settings

WARM_UP = -1
"""Bucket index of measurements. No real bucket has it, so their rounding errors are never carried into a real sum."""


class AllReduce:
    """Sums tensors over ranks. A collective: all ranks create it at the same time."""

    def __init__(self, settings: Settings, like: Tensor, ranks: Sequence[int] | None = None) -> None:
        """`like`: a tensor of the size to measure with, not changed. `ranks`: the ranks to sum over; None: all."""
        self.attachment: Attachment = open_attachment(settings, ranks or range(dist.get_world_size()))
        self.group = dist.group.WORLD
        candidates = 0 if settings.algorithm != "auto" else 3
        for _ in range(1 + settings.options.auto_steps * candidates):  # the algorithm is decided after these
            self.start(torch.zeros(like.numel(), dtype=like.dtype), WARM_UP).wait()
        self.raise_error()

    def start(self, flat: Tensor, index: int = 0, *, is_average: bool = False) -> Future[Tensor]:
        """Start to sum a flat, contiguous tensor of floating point numbers in place.

        `index` identifies tensors whose rounding errors are carried into their next sum.
        """
        promise: Future[Tensor] = Future()
        engine = self.attachment.engine
        if not isinstance(engine, ThreadEngine):  # a single rank
            promise.set_result(flat)
            return promise
        engine.pipeline.put(Bucket(index, flat, True, promise, is_sum=not is_average))
        return promise

    def raise_error(self) -> None:
        """Raise the error of a failed exchange, if any. Tensors that were being summed then hold NaN."""
        engine = self.attachment.engine
        if isinstance(engine, ThreadEngine):
            engine.pipeline.raise_error()

    def close(self) -> None:
        self.attachment.close()


class Sum:
    """A sum or average in progress, with the methods of `torch.distributed.Work` that scripts call."""

    def __init__(self, reducer: AllReduce, tensor: Tensor, *, is_average: bool = False) -> None:
        self._reducer = reducer
        self._tensor = tensor.detach()
        self._flat = self._tensor.contiguous().view(-1)
        self._is_copied = self._flat.data_ptr() == tensor.data_ptr()
        self._future = reducer.start(self._flat, is_average=is_average)

    def wait(self, timeout: object = None) -> bool:  # noqa: ARG002 - the exchange has its own timeout
        """Wait until the tensor holds the result. Raises CommError if a rank was lost."""
        self._future.wait()
        self._reducer.raise_error()
        if not self._is_copied:  # a second wait must not overwrite what the script wrote meanwhile
            self._tensor.copy_(self._flat.view(self._tensor.shape))
            self._is_copied = True
        return True

    def is_completed(self) -> bool:
        return bool(self._future.done())

    def get_future(self) -> Future[list[Tensor]]:
        return self._future.then(lambda _done: [self._tensor] if self.wait() else [])
