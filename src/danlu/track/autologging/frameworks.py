"""Keras, Lightning and transformers: add Danlu's callbacks where the script has added none."""

from __future__ import annotations

import inspect
from types import ModuleType

from danlu.track.autologging import torch
from danlu.track.listen.patching import Call, Patches
from danlu.track.listen.target import Target


def install_keras(patches: Patches, target: Target) -> None:
    def before(call: Call) -> None:
        from danlu.track.keras import RunCallback

        torch.hold()
        parameters = list(inspect.signature(call.original).parameters)
        at = parameters.index("callbacks")
        given = call.argument("callbacks", at)
        listed = list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]
        is_list = given is None or isinstance(given, (list, tuple)) or not hasattr(given, "append")
        if is_list and not any(isinstance(one, RunCallback) for one in listed):
            name = str(getattr(call.owner, "name", "") or "keras")
            call.replace("callbacks", at, value=[*listed, RunCallback(target.run(name))])

    def install(module: ModuleType) -> None:
        for name in ("fit", "evaluate"):
            patches.wrap(module.Model, name, group="keras", before=before, after=_release, failed=_release)

    patches.when_there("keras", install)


def install_lightning(patches: Patches, target: Target) -> None:
    def before(call: Call) -> None:
        from danlu.track.lightning import RunLogger

        torch.hold()
        trainer = call.owner
        if any(isinstance(one, RunLogger) for one in trainer.loggers):
            return
        model = call.argument("model", 1) or getattr(trainer, "lightning_module", None)
        name = type(model).__name__ if model is not None else "lightning"
        trainer.loggers = [*trainer.loggers, RunLogger(target.run(name))]

    def install(module: ModuleType) -> None:
        for name in ("fit", "validate", "test"):
            patches.wrap(module.Trainer, name, group="lightning", before=before, after=_release, failed=_release)

    for name in ("lightning.pytorch.trainer.trainer", "pytorch_lightning.trainer.trainer"):
        patches.when_there(name, install)


def install_transformers(patches: Patches, target: Target) -> None:
    def before(call: Call) -> None:
        from danlu.track.huggingface import RunCallback

        torch.hold()
        trainer = call.owner
        if not any(isinstance(one, RunCallback) for one in trainer.callback_handler.callbacks):
            trainer.add_callback(RunCallback(target.run(type(trainer.model).__name__)))

    def install(module: ModuleType) -> None:
        for name in ("train", "evaluate", "predict"):
            patches.wrap(module.Trainer, name, group="transformers", before=before, after=_release, failed=_release)

    patches.when_there("transformers.trainer", install)


def _release(call: Call) -> None:  # noqa: ARG001
    torch.release()
