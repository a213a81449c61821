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

from danlu.track.artifact import Artifact
from danlu.track.autolog import autolog, watch
from danlu.track.begin import load, start
from danlu.track.begin_artifact import artifact, load_artifact
from danlu.track.mirrors import mirror_tensorboard, mirror_wandb
from danlu.track.run import Run, SilentRun
from danlu.track.tensorboard import export_tensorboard, import_tensorboard

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
