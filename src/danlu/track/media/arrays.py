"""Convert arrays and tensors of any library to Python objects. Uses NumPy only if the script has imported it."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Optional

MAX_CHANNELS = 4


def nested(value: Any) -> Any:
    """Convert a tensor or array to nested lists."""
    for name in ("detach", "cpu"):
        if hasattr(value, name):
            value = getattr(value, name)()
    return value.tolist() if hasattr(value, "tolist") else value


def num_axes(value: Any) -> int:
    """Return the number of dimensions of an array, a tensor or nested lists."""
    if hasattr(value, "shape"):
        return len(value.shape)
    return 1 + num_axes(value[0]) if isinstance(value, (list, tuple)) and value else 0


def flat(values: Any) -> Iterator[float]:
    """Yield all numbers in nested lists."""
    found = nested(values)
    if isinstance(found, (list, tuple)):
        for inner in found:
            yield from flat(inner)
    else:
        yield float(found)


def as_numpy(values: Any) -> Optional[Any]:
    """Return the numbers as a flat float64 array; None without NumPy, or when they cannot be converted."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    try:
        for name in ("detach", "cpu", "float"):  # NumPy does not support PyTorch's half precision
            if hasattr(values, name) and hasattr(values, "detach"):
                values = getattr(values, name)()
        return numpy.asarray(values, dtype=float).ravel()
    except Exception:  # ragged lists, objects, a partially imported NumPy
        return None


def array_png(rows: Any) -> bytes:
    """Encode an array H×W, H×W×C or C×H×W as PNG. Raise ValueError for anything else."""
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], list) or not rows[0]:
        raise ValueError("an image is an array of H×W, H×W×C or C×H×W numbers, a file's bytes, or a path")
    if isinstance(rows[0][0], list):
        if len(rows) in (1, 3, 4) and len(rows[0][0]) not in (1, 2, 3, 4):
            rows = [[list(pixel) for pixel in zip(*lines)] for lines in zip(*rows)]  # C×H×W, as in PyTorch
    else:
        rows = [[[value] for value in row] for row in rows]
    channels = len(rows[0][0])
    if not 1 <= channels <= MAX_CHANNELS:
        raise ValueError(f"an image has 1 to 4 channels, not {channels}")
    lines_of_values = [[value for pixel in row for value in pixel] for row in rows]
    is_share = all(isinstance(value, float) for row in lines_of_values for value in row)
    lines = (bytes(_byte(value, is_share) for value in row) for row in lines_of_values)
    return png(len(rows[0]), len(rows), channels, lines)


def png(width: int, height: int, channels: int, rows: Iterable[bytes]) -> bytes:
    """Encode 8-bit rows as PNG: 1 channel is grey, 2 grey with alpha, 3 RGB, 4 RGBA."""
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    body = zlib.compress(b"".join(b"\x00" + row for row in rows), 6)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in ((b"IHDR", header), (b"IDAT", body), (b"IEND", b"")))


def gif(frames: Any, fps: float) -> bytes:
    """Encode arrays H×W×C as an animated GIF. Raise ValueError when Pillow is not installed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ValueError("making a video of an array needs Pillow (pip install pillow); or give an MP4 file") from error
    images = [Image.open(io.BytesIO(array_png(frame))).convert("RGB") for frame in nested(frames)]
    if not images:
        raise ValueError("expected at least one frame")
    buffer = io.BytesIO()
    pause = max(20, round(1000 / max(0.1, float(fps))))
    images[0].save(buffer, "GIF", save_all=True, append_images=images[1:], duration=pause, loop=0)
    return buffer.getvalue()


def _byte(value: float, is_share: bool) -> int:
    """Convert to 0..255: floats are fractions of 1. Values outside the range are clipped, and NaN is 0."""
    number = value * 255 if is_share else value
    return (255 if number >= 255 else round(number) if is_share else int(number)) if number > 0 else 0


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
