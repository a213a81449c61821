"""`EMCallback` for Lightning. Unlike in the original, it works."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from t9k.em.run import Run


def _base() -> Any:
    try:
        return import_module("lightning.pytorch.callbacks").Callback
    except ModuleNotFoundError:
        return import_module("pytorch_lightning.callbacks").Callback


class EMCallback(_base()):  # type: ignore[misc]
    """Logs the metrics of the module; the prefixes `train_`, `val_` and `test_` become types."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        from danlu.track.values import to_plain

        self.run.hparams.update(to_plain(dict(getattr(pl_module, "hparams", {}))))

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        self._log(trainer, "train")

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        if not trainer.sanity_checking:
            self._log(trainer, "val")

    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        self._log(trainer, "test")

    def _log(self, trainer: Any, type: str) -> None:
        prefix = f"{type}_"
        values = {
            name[len(prefix) :]: float(value)
            for name, value in trainer.callback_metrics.items()
            if name.startswith(prefix)
        }
        if values and trainer.is_global_zero:
            self.run.log(type, values, trainer.global_step, trainer.current_epoch + 1)
