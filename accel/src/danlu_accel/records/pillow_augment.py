"""Operations on pixels with Pillow. Results must equal those of the compiled core, native/augment.cpp."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageEnhance, ImageOps

from danlu_accel.records.augment import Op, Operation

Pixels = npt.NDArray[np.uint8]
AFFINE = Image.Transform.AFFINE


def augmented(pixels: Pixels, operations: Sequence[Operation]) -> Pixels:
    """Return the picture (height, width, RGB) after these operations, in order."""
    if not operations:
        return pixels
    image = Image.fromarray(pixels)
    for operation in operations:
        image = _DO[operation.op](image, operation)
    return np.asarray(image)


def _identity(image: Image.Image, _: Operation) -> Image.Image:
    return image


def _move(image: Image.Image, operation: Operation, matrix: tuple[float, ...]) -> Image.Image:
    return image.transform(image.size, AFFINE, matrix, _resampling(operation), fillcolor=operation.fill)


def _shear_x(image: Image.Image, operation: Operation) -> Image.Image:
    return _move(image, operation, (1, math.tan(_angle(operation.value)), 0, 0, 1, 0))


def _shear_y(image: Image.Image, operation: Operation) -> Image.Image:
    angle = _angle(operation.value)
    return _move(image, operation, (1, 0, 0, math.sin(angle) / math.cos(angle), 1, 0))


def _translate_x(image: Image.Image, operation: Operation) -> Image.Image:
    return _move(image, operation, (1, 0, -int(operation.value), 0, 1, 0))


def _translate_y(image: Image.Image, operation: Operation) -> Image.Image:
    return _move(image, operation, (1, 0, 0, 0, 1, -int(operation.value)))


def _rotate(image: Image.Image, operation: Operation) -> Image.Image:
    return image.rotate(operation.value, _resampling(operation), fillcolor=operation.fill)


def _posterize(image: Image.Image, operation: Operation) -> Image.Image:
    return ImageOps.posterize(image, int(operation.value))


def _solarize(image: Image.Image, operation: Operation) -> Image.Image:
    return image.point([level if level < operation.value else 255 - level for level in range(256)] * 3)


def _turn_hue(image: Image.Image, operation: Operation) -> Image.Image:
    hue, saturation, value = image.convert("HSV").split()
    turn = int(operation.value * 255) % 256
    turned = hue.point([(level + turn) % 256 for level in range(256)])
    return Image.merge("HSV", (turned, saturation, value)).convert("RGB")


def _enhance(kind: Callable[[Image.Image], ImageEnhance._Enhance]) -> Callable[[Image.Image, Operation], Image.Image]:
    return lambda image, operation: kind(image).enhance(operation.value)


def _angle(value: float) -> float:
    # torchvision converts the angle to degrees and back; do the same to get the same bits
    return math.radians(math.degrees(math.atan(value)))


def _resampling(operation: Operation) -> Image.Resampling:
    return Image.Resampling.BILINEAR if operation.is_bilinear else Image.Resampling.NEAREST


_DO: dict[Op, Callable[[Image.Image, Operation], Image.Image]] = {
    Op.IDENTITY: _identity,
    Op.SHEAR_X: _shear_x,
    Op.SHEAR_Y: _shear_y,
    Op.TRANSLATE_X: _translate_x,
    Op.TRANSLATE_Y: _translate_y,
    Op.ROTATE: _rotate,
    Op.BRIGHTNESS: _enhance(ImageEnhance.Brightness),
    Op.COLOR: _enhance(ImageEnhance.Color),
    Op.CONTRAST: _enhance(ImageEnhance.Contrast),
    Op.SHARPNESS: _enhance(ImageEnhance.Sharpness),
    Op.POSTERIZE: _posterize,
    Op.SOLARIZE: _solarize,
    Op.AUTOCONTRAST: lambda image, _: ImageOps.autocontrast(image),
    Op.EQUALIZE: lambda image, _: ImageOps.equalize(image),
    Op.HUE: _turn_hue,
}
