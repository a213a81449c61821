"""Keras callbacks: `model.fit(..., callbacks=[EMFitCallback(run)])`. Keras 3 on any backend, or TensorFlow's own."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Optional

from t9k.em.run import Run


def _base() -> Any:
    try:
        return import_module("keras.callbacks").Callback
    except ModuleNotFoundError:
        return import_module("tensorflow.keras.callbacks").Callback


class EMFitCallback(_base()):  # type: ignore[misc]
    """Logs `train` and `val` metrics once per epoch, and hyperparameters of the optimizer at the start of training."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    def on_train_begin(self, logs: Optional[dict[str, Any]] = None) -> None:  # noqa: ARG002
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            self.run.hparams.update({"optimizer": _plain(optimizer.get_config())})
        loss = getattr(self.model, "loss", None)
        if loss is not None:
            self.run.hparams.update({"lossType": loss if isinstance(loss, str) else _name(loss)})

    def on_epoch_end(self, epoch: int, logs: Optional[dict[str, Any]] = None) -> None:
        values = dict(logs or {})
        step = int(self.model.optimizer.iterations)
        train = {name: value for name, value in values.items() if not name.startswith("val_")}
        val = {name[len("val_") :]: value for name, value in values.items() if name.startswith("val_")}
        self.run.log("train", train, step, epoch + 1)
        if "loss" in val:
            self.run.log("val", val, step, epoch + 1)

    def on_train_end(self, logs: Optional[dict[str, Any]] = None) -> None:
        self.run.hparams.update({"metricTypes": sorted(name for name in logs or () if not name.startswith("val_"))})


class EMEvalCallback(_base()):  # type: ignore[misc]
    """Logs `test` metrics at the end of `model.evaluate`."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    def on_test_end(self, logs: Optional[dict[str, Any]] = None) -> None:
        optimizer = getattr(self.model, "optimizer", None)
        self.run.log("test", dict(logs or {}), int(optimizer.iterations) if optimizer is not None else 0)


def _name(loss: Any) -> str:
    return str(getattr(loss, "name", None) or getattr(loss, "__name__", None) or type(loss).__name__)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    from danlu.track.values import to_plain

    return dict(to_plain(values))
