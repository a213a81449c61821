"""Runs and artifacts in a training script: offline first, and without slowing the training.

    from danlu import track

    run = track.start("mnist", hparams={"lr": 0.1})
    for step, batch in enumerate(batches):
        run.log("train", {"loss": loss, "accuracy": accuracy}, step=step)
    model = track.artifact("mnist-model").add_file("model.pt")
    run.mark_output(model)
    run.finish()

Everything is written to a journal on disk. A separate process uploads it while a server is reachable; `danlu sync` does
so later. A problem of tracking is one warning, never an exception.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from danlu.track.artifacts import Artifact
    from danlu.track.autologging import autolog, watch
    from danlu.track.begin import load, start
    from danlu.track.begin_artifact import artifact, load_artifact
    from danlu.track.mirrors import mirror_tensorboard, mirror_wandb
    from danlu.track.run import Run, SilentRun
    from danlu.track.tensorboard import export_tensorboard, import_tensorboard

# loaded on first use: every upload starts a process that needs only `danlu.track.sync`. None is named as a module here
_HOMES = {
    "Artifact": "danlu.track.artifacts",
    "Run": "danlu.track.run",
    "SilentRun": "danlu.track.run",
    "artifact": "danlu.track.begin_artifact",
    "autolog": "danlu.track.autologging",
    "export_tensorboard": "danlu.track.tensorboard",
    "import_tensorboard": "danlu.track.tensorboard",
    "load": "danlu.track.begin",
    "load_artifact": "danlu.track.begin_artifact",
    "mirror_tensorboard": "danlu.track.mirrors",
    "mirror_wandb": "danlu.track.mirrors",
    "start": "danlu.track.begin",
    "watch": "danlu.track.autologging",
}
__all__ = [
    "Artifact",
    "Run",
    "SilentRun",
    "artifact",
    "autolog",
    "export_tensorboard",
    "import_tensorboard",
    "load",
    "load_artifact",
    "mirror_tensorboard",
    "mirror_wandb",
    "start",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'danlu.track' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
