"""The lossy exchanges that torch brings itself: what else a user would take instead of ours.

DDP compares the annotations of hooks themselves, so this file must not turn them into text with `from __future__`.
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
    """Torch's own. Under its own name DDP takes it only with NCCL; gloo adds up bf16 just as well."""
    return default_hooks.bf16_compress_hook(state, bucket)  # type: ignore[arg-type]


HALF_WIDTH: dict[str, Callable[..., Any]] = {
    "fp16_hook": default_hooks.fp16_compress_hook,
    "bf16_hook": bf16_hook,
}


def register(ddp: DDP, name: str, start: int = 2) -> None:
    """Give the model one of torch's hooks; PowerSGD begins at step `start` and is exact before.

    PowerSGD starts collectives from callbacks, which on gloo hang with more than one bucket: give the model one.
    """
    if not name.startswith(POWERSGD):
        ddp.register_comm_hook(None, HALF_WIDTH[name])
        return
    rank = int(name.removeprefix(POWERSGD))
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=start)
    ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)


class BareBucket:
    """A flat tensor where a hook that only asks for `buffer()` expects one of DDP's buckets."""

    def __init__(self, values: Tensor) -> None:
        self._values = values

    def buffer(self) -> Tensor:
        return self._values


def by_torch(name: str, num_buckets: int) -> Callable[[Tensor], None]:
    """Return what averages a flat tensor with one of torch's half-width hooks."""
    hook = HALF_WIDTH[name]

    def run(gradients: Tensor) -> None:
        for begun in [hook(None, BareBucket(bucket)) for bucket in gradients.chunk(num_buckets)]:
            begun.wait()

    return run
