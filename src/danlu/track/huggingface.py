"""`Trainer(..., callbacks=[RunCallback(run)])` for Hugging Face transformers."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Optional

from danlu.track.run import Run
from danlu.track.values import to_plain

_Callback: Any = import_module("transformers").TrainerCallback
_LEFT_OUT = ("epoch", "step", "total_flos")
_TYPES = {"eval": "val", "test": "test", "train": "train"}
"""The Trainer's `eval` is the validation during training."""


class RunCallback(_Callback):  # type: ignore[misc]
    """Logs what the Trainer logs: `eval_loss` becomes `loss` of type `val`, `test_...` of `test`, the rest of
    `train`."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:  # noqa: ARG002
        if not state.is_world_process_zero:
            return
        self.run.hparams.update(to_plain(args.to_sanitized_dict()))
        config = getattr(model, "config", None)
        if config is not None and hasattr(config, "to_dict"):
            self.run.hparams["model"] = to_plain(config.to_dict())
        self.run.total_steps(state.max_steps)

    def on_log(
        self,
        args: Any,  # noqa: ARG002
        state: Any,
        control: Any,  # noqa: ARG002
        logs: Optional[dict[str, Any]] = None,
        **_: Any,
    ) -> None:
        if not state.is_world_process_zero:
            return
        found: dict[str, dict[str, Any]] = {}
        for name, value in (logs or {}).items():
            first, between, rest = name.partition("_")
            is_typed = bool(between) and first in _TYPES
            if name not in _LEFT_OUT:
                found.setdefault(_TYPES[first] if is_typed else "train", {})[rest if is_typed else name] = value
        for type, values in found.items():
            self.run.log(type, values, state.global_step, state.epoch)
