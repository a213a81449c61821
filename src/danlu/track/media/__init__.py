"""Media of a run: the methods that log them, and their encoding as journal frames."""

from __future__ import annotations

from danlu.track.media.arrays import png
from danlu.track.media.frames import FRAMES, MAX_BINS, MAX_BYTES, MAX_ROWS, Counted, count, counted, wav

__all__ = ["FRAMES", "MAX_BINS", "MAX_BYTES", "MAX_ROWS", "Counted", "count", "counted", "png", "wav"]
