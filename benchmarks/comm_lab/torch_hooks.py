"""Torch's own lossy exchanges: the alternatives to ours.

DDP compares the annotations of hooks themselves, so this file must not turn them into strings with `from __future__`.
"""

from collections.abc import Callable
from typing import Any

import torch.distributed as dist
from torch import Tensor
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

POWERSGD = "powersgd_"
"""Followed by the rank of the approximation."""


def bf16_hook(state: object, bucket: dist.GradBucket) -> Future[Tensor]:
    """Torch's own hook, renamed: by its name DDP accepts it only with NCCL, although gloo can sum bf16 too."""
    return default_hooks.bf16_compress_hook(state, bucket)  # type: ignore[arg-type]


HALF_WIDTH: dict[str, Callable[..., Any]] = {
    "fp16_hook": default_hooks.fp16_compress_hook,
    "bf16_hook": bf16_hook,
}


def register(ddp: DDP, name: str, start: int = 2) -> None:
    """Register one of torch's hooks. PowerSGD starts at step `start`; steps before are exact.

    PowerSGD starts collectives from callbacks, which deadlock on gloo with more than one bucket: use a single one.
    """
    if not name.startswith(POWERSGD):
        ddp.register_comm_hook(None, HALF_WIDTH[name])
        return
    rank = int(name.removeprefix(POWERSGD))
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=start)
    ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)


class BareBucket:
    """A flat tensor in place of a DDP bucket, for hooks that only call `buffer()`."""

    def __init__(self, values: Tensor) -> None:
        self._values = values

    def buffer(self) -> Tensor:
        return self._values


def by_torch(name: str, num_buckets: int) -> Callable[[Tensor], None]:
    """Return a function that averages a flat tensor with one of torch's half-width hooks."""
    hook = HALF_WIDTH[name]

    def run(gradients: Tensor) -> None:
        for begun in [hook(None, BareBucket(bucket)) for bucket in gradients.chunk(num_buckets)]:
            begun.wait()

    return run
