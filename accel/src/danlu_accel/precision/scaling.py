"""Starting a gradient scaler afresh when low precision begins again."""

from __future__ import annotations

from torch.amp import GradScaler


def restart_scale(scaler: GradScaler, scale: float) -> None:
    """Set the scale back to `scale`: through float32 epochs it has only grown.

    Quiet for a scaler that is off, and for one that has scaled nothing yet: its scale is still the first one.
    """
    if not scaler.is_enabled() or scaler.get_scale() == scale:
        return
    scaler.update(new_scale=scale)
