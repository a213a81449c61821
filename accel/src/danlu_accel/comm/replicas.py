"""Gradients between the replicas of a model sharded by `fully_shard`: FSDP2 with replicas, also called HSDP.

    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("replicate", "shard"))
    fully_shard(model, mesh=mesh["shard"])
    exchange = comm.attach_replicas(model, mesh["replicate"])

Given the whole mesh, `fully_shard` would average over the replicas with torch's all-reduce before it calls a hook. So
it gets the mesh of one replica only, and the hook receives sums over that replica.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor, nn

from danlu_accel.comm.all_reduce import AllReduce
from danlu_accel.comm.errors import AlreadyAttachedError, CommError
from danlu_accel.comm.settings import TIMEOUT_SECONDS, Algorithm, Options, Settings, WireFormat
from danlu_accel.comm.stats import StepStats

if TYPE_CHECKING:  # importing FSDP takes a second; only its users should wait for it
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import FSDPModule

MEASURED_NUMEL = 8 << 20
_attached: weakref.WeakSet[nn.Module] = weakref.WeakSet()


class Replicas:
    """Returned by `attach_replicas`: explains its choices, reports statistics, and can be closed."""

    def __init__(self, reducer: AllReduce) -> None:
        self._reducer = reducer

    def explain(self) -> str:
        """Describe the choices and their reasons, one line per choice."""
        return self._reducer.attachment.explain()

    def stats(self) -> list[StepStats]:
        """Return the costs of the last exchanges, oldest first; each module passed to `fully_shard` is one exchange."""
        return self._reducer.attachment.stats()

    def close(self) -> None:
        """Stop exchanging: call it on every rank after the last backward. A later backward raises CommError."""
        self._reducer.close()

    def hook(self, index: int) -> Callable[[Tensor], None]:
        """Return the hook that averages the gradients of one module. It waits, as FSDP reads them right after."""

        def average(gradients: Tensor) -> None:
            self._reducer.start(gradients, index, is_average=True).wait()
            self._reducer.raise_error()

        return average


def attach_replicas(
    model: nn.Module,
    replicas: DeviceMesh,
    *,
    algorithm: Algorithm = "auto",
    wire: WireFormat = "exact",
    timeout_seconds: float = TIMEOUT_SECONDS,
    options: Options | None = None,
) -> Replicas:
    """Average the gradients of `model` over its replicas hierarchically. Call it on every rank, in the same order.

    `replicas` is the mesh dimension that `fully_shard` did not get. Blocks until all replicas have called it.
    """
    settings = Settings(algorithm, wire, timeout_seconds=timeout_seconds, options=options or Options())
    parts = _require_fresh_parts(model, replicas)
    ranks = dist.get_process_group_ranks(replicas.get_group())
    share = sum(_own_numel(parameter) for parameter in model.parameters() if parameter.requires_grad)
    found = Replicas(AllReduce(settings, torch.empty(min(share, MEASURED_NUMEL)), ranks))
    for index, part in enumerate(parts):
        part.set_all_reduce_hook(found.hook(index))
    _attached.add(model)
    return found


def _require_fresh_parts(model: nn.Module, replicas: DeviceMesh) -> Sequence[FSDPModule]:
    from torch.distributed.fsdp import FSDPModule

    if replicas.ndim != 1:
        raise ValueError(
            f"replicas: expected one dimension of the mesh, such as mesh['replicate'], got {replicas.ndim}"
        )
    if replicas.device_type != "cpu":
        raise CommError(
            f"replicas exchange on CPUs only, got a mesh of {replicas.device_type}; give fully_shard all of it"
        )
    parts = [module for module in model.modules() if isinstance(module, FSDPModule)]
    if not parts:
        raise TypeError(f"attach_replicas takes a model after fully_shard, got {type(model).__name__} without it")
    if model in _attached:
        raise AlreadyAttachedError("the replicas of this model exchange through danlu_accel already; attach once")
    for parameter in model.parameters():
        mesh = getattr(parameter, "device_mesh", None)
        if mesh is not None and mesh.ndim != 1:
            raise ValueError(
                "fully_shard was given the whole mesh and averages over replicas itself; give it the dimension that "
                "shards, such as mesh['shard']"
            )
    return parts


def _own_numel(parameter: Tensor) -> int:
    """Return the number of elements of a parameter on this rank."""
    own = parameter.to_local() if hasattr(parameter, "to_local") else parameter
    return int(own.numel())
