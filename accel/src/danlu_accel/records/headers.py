"""Width and height of an encoded image, read from its first bytes."""

from __future__ import annotations

import io

from PIL import Image, UnidentifiedImageError

START_OF_FRAME = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})


def image_size(data: memoryview) -> tuple[int, int]:
    """Return (width, height); (0, 0) if neither this code nor Pillow can read the image."""
    if bytes(data[:2]) == b"\xff\xd8":
        return _jpeg_size(data)
    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError, ValueError, SyntaxError):
        return 0, 0
    return (width, height) if width < 1 << 16 and height < 1 << 16 else (0, 0)


def image_format(data: memoryview) -> str:
    """Return the value for `image/format`: JPEG, PNG, ... or "" if unknown."""
    if bytes(data[:3]) == b"\xff\xd8\xff":
        return "JPEG"
    try:
        with Image.open(io.BytesIO(data)) as image:
            return image.format or ""
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError, ValueError, SyntaxError):
        return ""


def _jpeg_size(data: memoryview) -> tuple[int, int]:
    at, end = 2, len(data)
    while at + 9 <= end:
        if data[at] != 0xFF:
            return 0, 0
        marker = data[at + 1]
        if marker == 0xFF or marker in STANDALONE:
            at += 1 if marker == 0xFF else 2
            continue
        if marker in START_OF_FRAME:
            return data[at + 7] << 8 | data[at + 8], data[at + 5] << 8 | data[at + 6]
        at += 2 + (data[at + 2] << 8 | data[at + 3])
    return 0, 0
