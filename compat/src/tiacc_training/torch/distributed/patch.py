"""Patch DistributedDataParallel and `torch.distributed.all_reduce`, and undo it."""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any, Callable

from torch.nn.parallel import DistributedDataParallel

from danlu_accel import comm
from tiacc_training.torch.distributed import all_reduce
from tiacc_training.torch.distributed.settings import OldSettings, read_settings

_originals: dict[str, Callable[..., Any]] = {}
_added_variables: list[str] = []


def init_tiacc_training() -> None:
    """From now on, new DDP models get Danlu's hook, and large sums by `all_reduce` use the same exchange.

    Idempotent.

    Call it before `init_process_group`: under mpirun it sets the variables that `env://` needs.
    """
    if _originals:
        return
    settings = read_settings(os.environ)
    for name, value in comm.rendezvous_variables(os.environ).items():
        os.environ[name] = value
        _added_variables.append(name)
    _replace("__init__", _init_with(settings))
    _replace("register_comm_hook", _register_comm_hook)
    all_reduce.patch(settings)


def shutdown_tiacc_training() -> None:
    """Undo `init_tiacc_training`. Models keep their exchange. Does nothing if not initialised."""
    while _originals:
        name, original = _originals.popitem()
        setattr(DistributedDataParallel, name, original)
    all_reduce.undo()
    while _added_variables:
        os.environ.pop(_added_variables.pop(), None)


def _replace(name: str, replacement: Callable[..., Any]) -> None:
    original = getattr(DistributedDataParallel, name)
    _originals[name] = original
    setattr(DistributedDataParallel, name, functools.wraps(original)(replacement))


def _init_with(settings: OldSettings) -> Callable[..., None]:
    original = DistributedDataParallel.__init__

    def init(self: DistributedDataParallel, *args: Any, **kwargs: Any) -> None:
        if settings.bucket_cap_mb is not None and len(args) < BUCKET_CAP_PLACE:
            kwargs.setdefault("bucket_cap_mb", settings.bucket_cap_mb)
        original(self, *args, **kwargs)
        _attach(self, settings)

    return init


# With more positional arguments than this, the script sets the bucket size itself.
BUCKET_CAP_PLACE = DistributedDataParallel.__init__.__code__.co_varnames.index("bucket_cap_mb")


def _attach(model: DistributedDataParallel, settings: OldSettings) -> comm.Attachment | None:
    options = all_reduce.options_of(settings)
    try:
        return comm.attach(
            model,
            algorithm=settings.algorithm,
            wire=settings.wire,
            num_streams=settings.num_streams,
            options=options,
        )
    except comm.CommError as error:
        # Every rank gets the same error, so all continue with plain DDP.
        warnings.warn(f"gradients are exchanged by plain DDP: {error}", stacklevel=4)
        return None


def _register_comm_hook(self: DistributedDataParallel, state: object, hook: Callable[..., Any]) -> None:
    if hook is not comm.hook and any(taken is comm.hook for taken, _ in self._comm_hooks):
        name = getattr(hook, "__name__", repr(hook))
        warnings.warn(
            f"hook {name} is not used: init_tiacc_training() gave this model Danlu's; do without one of the two",
            stacklevel=2,
        )
        return
    _originals["register_comm_hook"](self, state, hook)
