"""`Trainer(logger=RunLogger(run))` for Lightning."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Optional, Union

from danlu.journal.words import TYPES
from danlu.track.run import Run
from danlu.track.values import type_word


def _logger() -> Any:
    try:
        return import_module("lightning.pytorch.loggers.logger").Logger
    except ModuleNotFoundError:
        return import_module("pytorch_lightning.loggers.logger").Logger


_Logger: Any = _logger()


class RunLogger(_Logger):  # type: ignore[misc]
    """Logs what `self.log` logs: `val_loss` and `val/loss` become the metric `loss` of type `val`."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def version(self) -> str:
        return self.run.id

    def log_metrics(self, metrics: Mapping[str, Any], step: Optional[int] = None) -> None:
        values = dict(metrics)
        epoch = values.pop("epoch", None)
        for type, found in by_type(values).items():
            self.run.log(type, found, step, epoch)

    def log_hyperparams(self, params: Union[dict[str, Any], Namespace], *_: Any, **__: Any) -> None:
        self.run.hparams.update(vars(params) if isinstance(params, Namespace) else params)

    def finalize(self, status: str) -> None:
        """Called after `fit` and again after `test`, so the run continues until the script ends or calls `finish`."""
        self.run.flush()
        if status not in ("success", "finished"):
            self.run.finish("failed", status)


def by_type(values: Mapping[str, Any], separators: str = "/_") -> dict[str, dict[str, Any]]:
    """Group metrics by type, which is the first word of their names; `train` without one."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        type, short = "train", name
        for separator in separators:
            first, between, rest = name.partition(separator)
            if between and rest and first.lower() in TYPES:
                type, short = type_word(first), rest
                break
        found.setdefault(type, {})[short] = value
    return found
