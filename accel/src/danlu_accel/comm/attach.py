"""Attach the exchange to a DDP model."""

from __future__ import annotations

import weakref

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from danlu_accel.comm.attachment import Attachment
from danlu_accel.comm.errors import AlreadyAttachedError
from danlu_accel.comm.hook import hook
from danlu_accel.comm.opening import open_attachment
from danlu_accel.comm.settings import TIMEOUT_SECONDS, Algorithm, Options, Settings, WireFormat

_attached: weakref.WeakSet[DistributedDataParallel] = weakref.WeakSet()


def attach(
    ddp_model: torch.nn.Module,
    *,
    algorithm: Algorithm = "auto",
    wire: WireFormat = "exact",
    num_streams: int = 1,
    timeout_seconds: float = TIMEOUT_SECONDS,
    options: Options | None = None,
) -> Attachment:
    """Exchange the gradients of `ddp_model` hierarchically. Call it on every rank, in the same order.

    Without a lossy `wire` the gradients equal plain DDP's up to the order of additions, and are bit-equal on all ranks.
    Blocks until all ranks have called it. A model takes only one hook; a second call raises an error.
    """
    settings = Settings(algorithm, wire, num_streams, timeout_seconds, options or Options())
    ddp = _require_fresh_ddp(ddp_model)
    ranks = dist.get_process_group_ranks(ddp.process_group)
    attachment = open_attachment(settings, ranks, device_type=ddp.device_type, raises_early=ddp.find_unused_parameters)
    ddp.register_comm_hook(attachment, hook)
    _attached.add(ddp)
    return attachment


def _require_fresh_ddp(model: torch.nn.Module) -> DistributedDataParallel:
    ddp = getattr(model, "_orig_mod", model)  # torch.compile(ddp) wraps it
    if not isinstance(ddp, DistributedDataParallel):
        raise TypeError(f"attach takes a DistributedDataParallel model, not {type(model).__name__}")
    if ddp in _attached:
        raise AlreadyAttachedError("this model exchanges its gradients through danlu_accel already; attach once")
    if getattr(ddp, "_comm_hooks", None):
        raise AlreadyAttachedError("this model has another communication hook; DDP takes one, so drop that one")
    return ddp
