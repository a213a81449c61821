"""Prepare one image file for packing: read it, check it, and rewrite it losslessly if that makes decoding faster."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from danlu_accel.records import native
from danlu_accel.records.errors import BrokenImage
from danlu_accel.records.example import encode_example
from danlu_accel.records.headers import image_format, image_size
from danlu_accel.records.sources import Source

SEGMENT_MCUS = 5
"""Number of MCUs between restart markers: small enough to skip what a crop does not use, and still cheap."""


@dataclass(frozen=True)
class Rewriting:
    """What packing may do to the bytes of an image."""

    restart_markers: bool = True
    """Rewrite JPEG losslessly: baseline, optimised Huffman codes, restart markers. Needs the compiled core."""
    short_side: int = 0
    """Lossy: shrink until the shorter side has this many pixels. 0: keep the pixels."""
    quality: int = 90
    """JPEG quality if `short_side` changes an image."""
    keep_metadata: bool = True
    """Keep EXIF, ICC and comments when a JPEG is rewritten."""


@dataclass(frozen=True)
class PreparedImage:
    record: bytes
    image_at: int
    image_bytes: int
    width: int
    height: int


def prepare(root: Path, source: Source, rewriting: Rewriting) -> PreparedImage:
    """Return the prepared image; raise BrokenImage if it cannot be decoded."""
    try:
        original = (root / source.path).read_bytes()
    except OSError as error:
        raise BrokenImage(f"cannot be read: {error.strerror}") from error
    data = original
    if rewriting.short_side:
        data = _shrunk(original, rewriting)
    data = _rewritten(data, rewriting)
    width, height = image_size(memoryview(data))
    if not width or not height:
        raise BrokenImage("no image that Pillow knows, or larger than 65535 pixels")
    features = {
        **source.features,
        "image/encoded": data,
        "image/filename": source.path,
        "image/format": image_format(memoryview(data)),
        "image/height": height,
        "image/width": width,
    }
    record = encode_example(features)
    return PreparedImage(record, record.index(data), len(data), width, height)


def _rewritten(data: bytes, rewriting: Rewriting) -> bytes:
    if native.core is None or data[:3] != b"\xff\xd8\xff" or not rewriting.restart_markers:
        _check_with_pillow(data)
        return data
    rewritten: bytes = native.core.transcode(data, SEGMENT_MCUS, rewriting.keep_metadata)
    if not rewritten:  # the core rejects anything irregular; Pillow decides whether it is broken
        _check_with_pillow(data)
        return data
    return rewritten


def _shrunk(data: bytes, rewriting: Rewriting) -> bytes:
    with _opened(data) as image:
        scale = rewriting.short_side / min(image.size)
        if scale >= 1:
            return data
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        out = io.BytesIO()
        image.convert("RGB").resize(size, Image.Resampling.BILINEAR).save(out, "JPEG", quality=rewriting.quality)
        return out.getvalue()


def _check_with_pillow(data: bytes) -> None:
    _opened(data).close()


def _opened(data: bytes) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(data))
        image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, MemoryError, EOFError) as error:
        raise BrokenImage(str(error) or type(error).__name__) from error
    return image


def same_pixels(first: bytes, second: bytes) -> bool:
    """Return whether Pillow decodes both to identical pixels."""
    with _opened(first) as one, _opened(second) as other:
        return one.mode == other.mode and bool(np.array_equal(np.asarray(one), np.asarray(other)))
