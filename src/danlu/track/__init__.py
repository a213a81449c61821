"""Runs in your training script: offline first, and never in training's way.

    from danlu import track

    run = track.start("mnist", hparams={"lr": 0.1})
    for step, batch in enumerate(batches):
        run.log("train", {"loss": loss, "accuracy": accuracy}, step=step)
    run.finish()

Everything goes to a journal on disk; a process of its own brings it to the server when there is one, and
`danlu sync` does so later. A problem of the tracker is one warning, never an exception.
"""

from __future__ import annotations

from danlu.track.begin import load, start
from danlu.track.run import Run, SilentRun
from danlu.track.tensorboard import import_tensorboard

__all__ = ["Run", "SilentRun", "import_tensorboard", "load", "start"]
