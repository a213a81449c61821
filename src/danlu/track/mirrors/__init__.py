"""Mirror TensorBoard or W&B calls of a script to Danlu: `track.mirror_tensorboard()`, `track.mirror_wandb()`."""

from __future__ import annotations

from danlu.track.mirrors.tensorboard import mirror_tensorboard
from danlu.track.mirrors.wandb import mirror_wandb

__all__ = ["mirror_tensorboard", "mirror_wandb"]
