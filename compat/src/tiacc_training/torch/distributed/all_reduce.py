"""Route `torch.distributed.all_reduce` through Danlu's exchange, for tensors large enough to benefit."""

from __future__ import annotations

import functools
import warnings
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from danlu_accel import comm
from tiacc_training.torch.distributed.settings import OldSettings

LEAST_BYTES = 1 << 20
"""Below this size torch's own sum is faster."""

MODULES = (dist, distributed_c10d)
_originals: list[Callable[..., Any]] = []
_open: list[comm.AllReduce] = []


def patch(settings: OldSettings) -> None:
    """Replace all_reduce in all modules from which scripts import it."""
    original = dist.all_reduce
    _originals.append(original)
    chosen = comm.Settings(settings.algorithm, num_streams=settings.num_streams, options=options_of(settings))

    @functools.wraps(original)
    def all_reduce(tensor: torch.Tensor, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
        reducer = _reducer(chosen, tensor) if _is_ours(tensor, op, group) else None
        if reducer is None:
            return original(tensor, op, group, async_op)
        begun = comm.Sum(reducer, tensor, is_average=op == dist.ReduceOp.AVG)
        if async_op:
            return begun
        begun.wait()
        return None

    _put(all_reduce)


def undo() -> None:
    """Restore torch's functions; does nothing if they are not patched."""
    while _originals:
        _put(_originals.pop())
    while _open:
        _open.pop().close()


def options_of(settings: OldSettings) -> comm.Options:
    return comm.Options(local_size=settings.local_size)


def _is_ours(tensor: Any, op: Any, group: Any) -> bool:
    """Whether this is a large sum or average of CPU tensors over all ranks. The result is the same on every rank.

    Code traced by torch.compile, and tensor subclasses such as DTensor, use their own all_reduce.
    """
    return (
        not torch.compiler.is_compiling()
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and tensor.is_floating_point()
        and tensor.numel() * tensor.element_size() >= LEAST_BYTES
        and op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG)
        and group in (None, dist.group.WORLD)
        and dist.get_world_size() > 1
    )


def _reducer(settings: comm.Settings, like: torch.Tensor) -> comm.AllReduce | None:
    """Return the open exchange; the first large sum opens it and measures. None if it cannot be opened."""
    if _open and _open[0].group is not dist.group.WORLD:  # the script has initialised a new process group
        _open.pop().close()
    if not _open and _originals:
        try:
            _open.append(comm.AllReduce(settings, like.detach()))
        except comm.CommError as error:
            # Every rank gets the same error, so all continue with torch's own.
            warnings.warn(f"all_reduce is torch's own: {error}", stacklevel=3)
            _put(_originals[-1])
    return _open[0] if _open else None


def _put(function: Callable[..., Any]) -> None:
    for module in MODULES:
        setattr(module, "all_reduce", function)  # noqa: B010 - the modules do not declare it for assignment
