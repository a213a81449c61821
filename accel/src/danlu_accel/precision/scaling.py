"""Reset a gradient scaler when low precision starts again."""

from __future__ import annotations

from torch.amp import GradScaler


def restart_scale(scaler: GradScaler, scale: float) -> None:
    """Reset the scale to `scale`: it only grew during float32 epochs.

    Does nothing for a disabled scaler, or one that has not scaled yet and so still has its initial scale.
    """
    if not scaler.is_enabled() or scaler.get_scale() == scale:
        return
    scaler.update(new_scale=scale)
