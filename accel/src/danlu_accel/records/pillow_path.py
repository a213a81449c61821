"""The work of the compiled core done by Pillow: if there is no core, and for images that the core does not support."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from danlu_accel.records import native
from danlu_accel.records.augment import Erased
from danlu_accel.records.draws import Geometry, draw_erased, draw_geometry, draw_operations
from danlu_accel.records.errors import BrokenImage
from danlu_accel.records.pillow_augment import augmented
from danlu_accel.records.recipe import Recipe

Pixels = npt.NDArray[Any]


def open_image(data: memoryview) -> Image.Image:
    """Return a loaded RGB image; raise BrokenImage if Pillow cannot read it."""
    if native.core is not None and is_plain_jpeg(data):
        status, width, height, pixels = native.core.decode(data)
        if status == 0:
            return Image.frombytes("RGB", (width, height), pixels, "raw", "RGBX")
    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, MemoryError, EOFError) as error:
        raise BrokenImage(str(error) or type(error).__name__) from error


def is_plain_jpeg(data: memoryview) -> bool:
    """Whether this is a JPEG without EXIF. A user's transform may read EXIF."""
    return bytes(data[:3]) == b"\xff\xd8\xff" and b"Exif\0" not in bytes(data[:4096])


def render(data: memoryview, recipe: Recipe, key: int) -> tuple[Pixels, Geometry]:
    """Return the finished image in the memory layout of the recipe, and its geometry."""
    image = open_image(data)
    geometry = draw_geometry(recipe, image.width, image.height, key)
    pixels = augmented(resized(image, recipe, geometry), draw_operations(recipe, key))
    return erase(finish(pixels, recipe), recipe, draw_erased(recipe, key)), geometry


def render_into(out: Pixels, data: memoryview, recipe: Recipe, key: int) -> Geometry:
    """Write the finished image to `out`; return its geometry."""
    out[...], geometry = render(data, recipe, key)
    return geometry


def resized(image: Image.Image, recipe: Recipe, geometry: Geometry) -> npt.NDArray[np.uint8]:
    g = geometry
    box = image.crop((g.x, g.y, g.x + g.width, g.y + g.height))
    whole = box.resize((g.virtual_width, g.virtual_height), Image.Resampling.BILINEAR)
    window = whole.crop((g.window_x, g.window_y, g.window_x + recipe.width, g.window_y + recipe.height))
    if g.flip:
        window = window.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(window)


def finish(pixels: npt.NDArray[np.uint8], recipe: Recipe) -> Pixels:
    ordered = pixels if recipe.channels_last else np.ascontiguousarray(pixels.transpose(2, 0, 1))
    if recipe.as_bytes:
        return ordered
    shape = (1, 1, 3) if recipe.channels_last else (3, 1, 1)
    mean = np.array(recipe.mean, np.float32).reshape(shape)
    std = np.array(recipe.std, np.float32).reshape(shape)
    return ((ordered.astype(np.float32) / np.float32(255.0)) - mean) / std


def erase(pixels: Pixels, recipe: Recipe, erased: Erased) -> Pixels:
    """Return the finished image with a rectangle erased."""
    if not erased.height or not erased.width:
        return pixels
    pixels = pixels.copy()
    by_channel = pixels.transpose(2, 0, 1) if recipe.channels_last else pixels
    rows, columns = slice(erased.top, erased.top + erased.height), slice(erased.left, erased.left + erased.width)
    by_channel[:, rows, columns] = np.array(recipe.erased_value).reshape(3, 1, 1)
    return pixels
