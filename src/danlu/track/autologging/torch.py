"""Plain PyTorch: the loss passed to backward() and the learning rate; on request gradients and parameters."""

from __future__ import annotations

import sys
import threading
import weakref
from types import ModuleType
from typing import Any, Optional

from danlu.track.listen.patching import Call, Patches
from danlu.track.listen.target import Target
from danlu.track.run import Run
from danlu.track.values import brief
from danlu.track.warn import warn_once

MAX_TENSORS = 200
"""Of a watched model; each is logged as a histogram."""

_intervals: weakref.WeakKeyDictionary[Patches, int] = weakref.WeakKeyDictionary()
_held = 0
_lock = threading.Lock()


def hold() -> None:
    """Pause: a framework on top of PyTorch logs this training itself."""
    global _held  # noqa: PLW0603
    with _lock:
        _held += 1


def release() -> None:
    global _held  # noqa: PLW0603
    with _lock:
        _held = max(0, _held - 1)


def set_interval(patches: Patches, every: int) -> None:
    _intervals[patches] = max(1, int(every))


def install(patches: Patches, target: Target) -> None:
    listener = _Listener(patches, target)

    def install_optimizer(module: ModuleType) -> None:
        handle = module.register_optimizer_step_post_hook(listener.stepped)
        patches.on_undo(handle.remove)

    def install_tensor(module: ModuleType) -> None:
        patches.wrap(module.Tensor, "backward", before=listener.backward)

    def install_scaler(module: ModuleType) -> None:
        patches.wrap(module.GradScaler, "scale", after=listener.scaled)

    patches.when_there("torch.optim.optimizer", install_optimizer)
    patches.when_there("torch.amp.grad_scaler", install_scaler)
    patches.when_there("torch", install_tensor)


class _Listener:
    def __init__(self, patches: Patches, target: Target) -> None:
        self._patches = patches
        self._target = target
        self._steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._loss: Any = None
        self._scaled: tuple[Any, Any] = (None, None)

    def scaled(self, call: Call) -> None:
        """A scaler of mixed precision multiplies the loss; log the unscaled one."""
        self._scaled = (call.result, call.argument("outputs", 1))

    def backward(self, call: Call) -> None:
        if _held:
            return
        loss = call.owner
        if self._scaled[0] is loss:
            loss = self._scaled[1]
        self._scaled = (None, None)
        if loss.numel() == 1:
            self._loss = loss.detach()

    def stepped(self, optimizer: Any, *_: Any) -> None:
        try:
            if not _held and self._patches.is_on:
                self._tell(optimizer)
        except Exception as error:
            warn_once("torch", f"a step of an optimizer could not be written down: {brief(error, 300)}")

    def _tell(self, optimizer: Any) -> None:
        step = self._steps.get(optimizer, 0)
        self._steps[optimizer] = step + 1
        run = self._target.run(type(optimizer).__name__)
        if step == 0:
            _note_optimizer(run, optimizer)
        if step % _intervals.get(self._patches, 1):
            return
        values: dict[str, Any] = {}
        if self._loss is not None:
            values["loss"] = float(self._loss)
        for at, group in enumerate(optimizer.param_groups):
            if "lr" in group:
                values["lr" if len(optimizer.param_groups) == 1 else f"lr/{at}"] = float(group["lr"])
        run.log("train", values, step)


def _note_optimizer(run: Run, optimizer: Any) -> None:
    name = type(optimizer).__name__
    about = {key: value for key, value in optimizer.defaults.items() if isinstance(value, (bool, int, float, str))}
    number = sum(parameter.numel() for group in optimizer.param_groups for parameter in group["params"])
    run.hparams.update({"optimizer": {"name": name, **about}, "num_parameters": number})


def watch(
    model: Any,
    run: Optional[Run] = None,
    *,
    every: int = 100,
    gradients: bool = True,
    parameters: bool = False,
    bins: int = 64,
) -> Patches:
    """Log histograms of a PyTorch model's gradients, and optionally its parameters, before every n-th optimizer step.

    Each tensor is a histogram of type `gradients` or `parameters`, 200 at most; `gradients/norm` is the total norm,
    `gradients/nonfinite` the number of NaN or infinite values. Only these steps become slower. `undo()` of the result
    ends it.
    """
    patches, target = Patches(), Target(run)
    named = [(name, tensor) for name, tensor in model.named_parameters() if tensor.requires_grad]
    if len(named) > MAX_TENSORS:
        warn_once("watch", f"the model has {len(named)} tensors; the first {MAX_TENSORS} get histograms")
    watched = _Watched(dict(named), target, max(1, int(every)), bins)
    watched.kinds = [kind for kind, wanted in (("gradients", gradients), ("parameters", parameters)) if wanted]
    optimizers: Any = sys.modules["torch.optim.optimizer"]
    handle = optimizers.register_optimizer_step_pre_hook(watched.stepping)
    patches.on_undo(handle.remove)
    patches.on_undo(target.finish)
    return patches


class _Watched:
    def __init__(self, named: dict[str, Any], target: Target, every: int, bins: int) -> None:
        self.kinds: list[str] = []
        self._named = named
        self._ids = {id(tensor) for tensor in named.values()}
        self._target = target
        self._every = every
        self._bins = bins
        self._step = 0

    def stepping(self, optimizer: Any, *_: Any) -> None:
        try:
            mine = (id(tensor) in self._ids for group in optimizer.param_groups for tensor in group["params"])
            if any(mine):
                if self._step % self._every == 0:
                    self._tell()
                self._step += 1
        except Exception as error:
            warn_once("watch step", f"gradients could not be written down: {brief(error, 300)}")

    def _tell(self) -> None:
        run = self._target.run("watched")
        for kind in self.kinds:
            tensors = {name: one.grad if kind == "gradients" else one for name, one in self._named.items()}
            there = {name: one.detach() for name, one in tensors.items() if one is not None}
            square, odd = 0.0, 0
            for at, (name, tensor) in enumerate(there.items()):
                numbers = tensor.to_dense() if tensor.is_sparse else tensor
                fine = numbers[numbers.isfinite()].float()
                square, odd = square + float(fine.pow(2).sum()), odd + numbers.numel() - fine.numel()
                if at < MAX_TENSORS:
                    run.add_media("histogram", name, step=self._step, type=kind, value=_spread(fine, self._bins))
            run.log(kind, {"norm": square**0.5, "nonfinite": odd}, self._step)


def _spread(numbers: Any, bins: int) -> Any:
    """Count the bins on the tensor's own device."""
    from danlu.track.media import Counted

    if not numbers.numel():
        return Counted([0.0, 1.0], [0])
    low, high = float(numbers.min()), float(numbers.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts = numbers.histc(bins, low, high).tolist()
    width = (high - low) / bins
    return Counted([low + width * edge for edge in range(bins)] + [high], [int(count) for count in counts])
