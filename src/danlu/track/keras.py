"""`model.fit(..., callbacks=[RunCallback(run)])`: Keras 3 on any backend."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Optional

from danlu.track.run import Run
from danlu.track.values import to_plain

_Callback: Any = import_module("keras.callbacks").Callback


class RunCallback(_Callback):  # type: ignore[misc]
    """Logs `train` and `val` after every epoch, `test` after `evaluate`, and the optimizer's settings as hparams.

    With `every_batches`, also logs the running `train` metrics at that interval.
    """

    def __init__(self, run: Run, every_batches: Optional[int] = None) -> None:
        super().__init__()
        self.run = run
        self._every_batches = every_batches
        self._is_fitting = False

    def on_train_begin(self, logs: Optional[dict[str, Any]] = None) -> None:  # noqa: ARG002
        self._is_fitting = True
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            self.run.hparams["optimizer"] = to_plain(optimizer.get_config())
        params = self.params or {}
        if params.get("epochs"):
            self.run.hparams["epochs"] = params["epochs"]
        if params.get("epochs") and params.get("steps"):
            self.run.total_steps(params["epochs"] * params["steps"])

    def on_train_batch_end(self, batch: int, logs: Optional[dict[str, Any]] = None) -> None:
        if self._every_batches and (batch + 1) % self._every_batches == 0:
            self.run.log("train", dict(logs or {}), self._step())

    def on_epoch_end(self, epoch: int, logs: Optional[dict[str, Any]] = None) -> None:
        values = dict(logs or {})
        train = {name: value for name, value in values.items() if not name.startswith("val_")}
        val = {name[len("val_") :]: value for name, value in values.items() if name.startswith("val_")}
        for type, found in (("train", train), ("val", val)):
            if found:
                self.run.log(type, found, self._step(), epoch + 1)

    def on_train_end(self, logs: Optional[dict[str, Any]] = None) -> None:  # noqa: ARG002
        self._is_fitting = False

    def on_test_end(self, logs: Optional[dict[str, Any]] = None) -> None:
        if logs and not self._is_fitting:  # the validation of an epoch is logged at the end of the epoch
            self.run.log("test", dict(logs), self._step())

    def _step(self) -> int:
        optimizer = getattr(self.model, "optimizer", None)
        return int(optimizer.iterations) if optimizer is not None else 0
