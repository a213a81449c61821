"""A policy put to work: autocast on or off per epoch, the same on every rank, with a record of what ran how."""

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
    """Which precision an epoch ran in, and why."""

    epoch: int
    dtype: str
    reason: str


class AdaptivePrecision:
    """Low precision where a policy allows it.

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
        """`dtype` None takes what the model's device is good at. `group` are the ranks that must agree."""
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
        """Decide for this epoch and say whether it runs in low precision. With several ranks, all must call it."""
        was_low = self._is_low
        wanted = self.policy.enabled(epoch, lr, mean_over_ranks(loss, self._group))
        self._is_low = wanted and self.dtype is not None
        if self._is_low and not was_low:
            restart_scale(self.scaler, self._first_scale)
        return self._is_low

    @contextlib.contextmanager
    def autocast(self) -> Iterator[None]:
        """The context for forward passes of this epoch."""
        batches = self._is_low and self._batches_attention
        with (
            torch.autocast(self.device_type, dtype=self.dtype, enabled=self._is_low),
            attention.batched_attention() if batches else contextlib.nullcontext(),
        ):
            yield

    def backward(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        """Backward and optimizer step, through the gradient scaler where the precision needs one."""
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self.scaler.step(optimizer)
        self.scaler.update()

    @property
    def record(self) -> list[EpochRecord]:
        """Which epochs ran in which precision."""
        return [self._recorded(decision) for decision in self.policy.decisions]

    @property
    def share_low(self) -> float:
        """The share of epochs so far that ran in low precision."""
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
    """Return the mean of all ranks' losses: a policy that saw each its own would answer differently per rank.

    Without a process group it is the loss itself. One rank's NaN is everyone's. Collective; None must be everyone's.
    """
    if loss is None or not dist.is_available() or not dist.is_initialized():
        return loss
    device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"
    total = torch.tensor([loss], dtype=torch.float64, device=device)
    dist.all_reduce(total, group=group)
    return float(total) / dist.get_world_size(group)
