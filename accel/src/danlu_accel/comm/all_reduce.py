"""Sums over all ranks outside of DDP, exchanged as DDP's gradients are: what scripts call `all_reduce` for by hand."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.futures import Future

from danlu_accel.comm.attachment import Attachment, ThreadEngine
from danlu_accel.comm.opening import open_attachment
from danlu_accel.comm.pieces import Bucket
from danlu_accel.comm.settings import Settings


class AllReduce:
    """Adds tensors up over all ranks of the default group. Made on every rank at the same time, like a collective."""

    def __init__(self, settings: Settings, like: Tensor) -> None:
        """`like`: a tensor of the size to measure with; it is not changed."""
        self.attachment: Attachment = open_attachment(settings, range(dist.get_world_size()))
        self.group = dist.group.WORLD
        candidates = 0 if settings.algorithm != "auto" else 3
        for _ in range(1 + settings.options.auto_steps * candidates):  # what decides is decided after these
            self.start(torch.zeros(like.numel(), dtype=like.dtype)).wait()
        self.raise_error()

    def start(self, flat: Tensor) -> Future[Tensor]:
        """Begin to add up a flat, contiguous tensor of floating point numbers, in place."""
        promise: Future[Tensor] = Future()
        engine = self.attachment.engine
        if not isinstance(engine, ThreadEngine):  # one rank alone
            promise.set_result(flat)
            return promise
        engine.pipeline.put(Bucket(0, flat, True, promise, is_sum=True))
        return promise

    def raise_error(self) -> None:
        """Raise what went wrong, if anything did; what was being added up is NaN then."""
        engine = self.attachment.engine
        if isinstance(engine, ThreadEngine):
            engine.pipeline.raise_error()

    def close(self) -> None:
        self.attachment.close()


class Sum:
    """A sum under way, with the methods of `torch.distributed.Work` that scripts call."""

    def __init__(self, reducer: AllReduce, tensor: Tensor) -> None:
        self._reducer = reducer
        self._tensor = tensor
        self._flat = tensor.detach().contiguous().view(-1)
        self._future = reducer.start(self._flat)

    def wait(self, timeout: object = None) -> bool:  # noqa: ARG002 - the exchange has a timeout of its own
        """Wait until the tensor holds the sum. Raise CommError when a rank was lost."""
        self._future.wait()
        self._reducer.raise_error()
        if self._flat.data_ptr() != self._tensor.data_ptr():
            self._tensor.detach().copy_(self._flat.view(self._tensor.shape))
        return True

    def is_completed(self) -> bool:
        return bool(self._future.done())

    def get_future(self) -> Future[list[Tensor]]:
        return self._future.then(lambda _done: [self._tensor] if self.wait() else [])
