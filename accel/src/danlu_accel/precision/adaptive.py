"""Apply a policy: autocast on or off per epoch, the same on every rank, with a record of the decisions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from danlu_accel.precision import attention
from danlu_accel.precision.devices import choose_dtype, require_sensible
from danlu_accel.precision.policies import Decision, Policy
from danlu_accel.precision.scaling import restart_scale


@dataclass(frozen=True)
class EpochRecord:
    """The precision of an epoch, and why."""

    epoch: int
    dtype: str
    reason: str


class AdaptivePrecision:
    """Low precision in the epochs that a policy selects.

    for epoch in range(epochs):
        precision.begin_epoch(epoch, lr=scheduler.get_last_lr()[0], loss=last_loss)
        for batch, target in data:
            with precision.autocast():
                loss = loss_of(model(batch), target)
            precision.backward(loss, optimizer)
    """

    def __init__(
        self,
        policy: Policy,
        model: nn.Module,
        *,
        dtype: torch.dtype | None = None,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        """`dtype` None: chosen for the model's device. `group`: the ranks that must agree."""
        self.policy = policy
        self.device_type = next((p.device.type for p in model.parameters()), "cpu")
        chosen = choose_dtype(self.device_type)
        self.dtype = chosen.dtype if dtype is None else dtype
        self.reason = chosen.reason if dtype is None else "as asked"
        if self.dtype is not None:
            require_sensible(self.dtype, self.device_type, model)
        self.scaler = torch.amp.GradScaler(self.device_type, enabled=self.dtype == torch.float16)
        self._first_scale = self.scaler.get_scale()
        self._group = group
        self._is_low = False
        self._batches_attention = attention.pays(self.dtype, self.device_type)

    def begin_epoch(self, epoch: int, lr: float | None = None, loss: float | None = None) -> bool:
        """Decide for this epoch; return whether it runs in low precision. All ranks must call it."""
        was_low = self._is_low
        wanted = self.policy.enabled(epoch, lr, mean_over_ranks(loss, self._group))
        self._is_low = wanted and self.dtype is not None
        if self._is_low and not was_low:
            restart_scale(self.scaler, self._first_scale)
        return self._is_low

    @contextlib.contextmanager
    def autocast(self) -> Iterator[None]:
        """Context for the forward passes of this epoch."""
        batches = self._is_low and self._batches_attention
        with (
            torch.autocast(self.device_type, dtype=self.dtype, enabled=self._is_low),
            attention.batched_attention() if batches else contextlib.nullcontext(),
        ):
            yield

    def backward(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        """Backward and optimizer step, with the gradient scaler if the precision needs one."""
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self.scaler.step(optimizer)
        self.scaler.update()

    @property
    def record(self) -> list[EpochRecord]:
        """The precision of each epoch so far."""
        return [self._recorded(decision) for decision in self.policy.decisions]

    @property
    def share_low(self) -> float:
        """Share of the epochs so far that ran in low precision."""
        found = [entry.dtype != "float32" for entry in self.record]
        return sum(found) / len(found) if found else 0.0

    def state_dict(self) -> dict[str, Any]:
        return {"policy": self.policy.state_dict(), "scaler": self.scaler.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.policy.load_state_dict(state["policy"])
        if state["scaler"]:
            self.scaler.load_state_dict(state["scaler"])

    def _recorded(self, decision: Decision) -> EpochRecord:
        if decision.is_enabled and self.dtype is None:
            return EpochRecord(decision.epoch, "float32", self.reason)
        dtype = str(self.dtype).removeprefix("torch.") if decision.is_enabled else "float32"
        return EpochRecord(decision.epoch, dtype, decision.reason)


def mean_over_ranks(loss: float | None, group: dist.ProcessGroup | None = None) -> float | None:
    """Return the mean loss of all ranks, so that a policy decides the same on every rank.

    Without a process group, the loss itself. NaN on one rank gives NaN on all. Collective; None on one rank must be
    None on all.
    """
    if loss is None or not dist.is_available() or not dist.is_initialized():
        return loss
    device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"
    total = torch.tensor([loss], dtype=torch.float64, device=device)
    dist.all_reduce(total, group=group)
    return float(total) / dist.get_world_size(group)
