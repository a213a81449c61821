"""Random numbers as a pure function of (seed, epoch, record), and what is drawn with them.

The C++ counterpart is native/plan.cpp: both draw the same for the same key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from danlu_accel.records.augment import JITTER_OPS, NUM_CHOICES, Choosing, ColorJitter, Erased, Op, Operation, Table
from danlu_accel.records.recipe import Crop, Recipe

MASK = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15
OTHER_STREAM = 0xD1B54A32D192ED03
Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Geometry:
    """Resize the box of the image to the virtual size; the output is the window in it. See native/plan.h."""

    x: int
    y: int
    width: int
    height: int
    virtual_width: int
    virtual_height: int
    window_x: int
    window_y: int
    flip: int
    image_width: int
    image_height: int

    def as_row(self) -> list[int]:
        """Return the fields in the order of the compiled core."""
        return list(self.__dict__.values())


def keys_of(seed: int, epoch: int, records: npt.NDArray[np.int64]) -> Keys:
    """Return one key per record, the same on every machine, thread and rank."""
    return mix(np.uint64(mix_number(mix_number(seed & MASK) + epoch & MASK)) + records.astype(np.uint64))


def mix(values: Keys) -> Keys:
    """Scramble 64-bit numbers (splitmix64's finaliser)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def mix_number(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    return value ^ (value >> 31)


class Draws:
    """Uniform numbers in [0, 1) from a key."""

    def __init__(self, key: int) -> None:
        self._state = key & MASK

    def uniform(self) -> float:
        self._state = (self._state + GOLDEN) & MASK
        return (mix_number(self._state) >> 11) * (1.0 / 9007199254740992.0)


def draw_geometry(recipe: Recipe, image_width: int, image_height: int, key: int) -> Geometry:
    """Draw crop, size and mirroring of an image, with torchvision's rules and probabilities."""
    draws = Draws(key)
    x, y, width, height = 0, 0, image_width, image_height
    virtual_width, virtual_height, window_x, window_y = recipe.width, recipe.height, 0, 0
    if recipe.crop is Crop.RANDOM_RESIZED:
        x, y, width, height = _random_resized(recipe, draws, image_width, image_height)
    elif recipe.crop is Crop.CENTER:
        virtual_width, virtual_height = _short_side_to(recipe.short_side, image_width, image_height)
        window_x = round((virtual_width - recipe.width) / 2.0)
        window_y = round((virtual_height - recipe.height) / 2.0)
    flip = int(recipe.flip_probability > 0 and draws.uniform() < recipe.flip_probability)
    return Geometry(
        x, y, width, height, virtual_width, virtual_height, window_x, window_y, flip, image_width, image_height
    )


def draw_operations(recipe: Recipe, key: int) -> list[Operation]:
    """Draw the operations on the pixels. Independent of the draws for the crop."""
    draws = stream(key, 1)
    operations: list[Operation] = []
    for step in recipe.augment:
        if isinstance(step, ColorJitter):
            operations += _jitter(step, draws)
        elif step.num_ops:
            table = step.table(recipe.width, recipe.height)
            operations += [_choose(step, table, draws) for _ in range(step.num_ops)]
    return operations


def draw_erased(recipe: Recipe, key: int) -> Erased:
    """Draw the rectangle of the finished image to erase."""
    erasing = recipe.erasing
    draws = stream(key, 2)
    if erasing is None or draws.uniform() >= erasing.probability:
        return Erased()
    area = float(recipe.width) * recipe.height
    log_min, log_max = math.log(erasing.ratio[0]), math.log(erasing.ratio[1])
    for _ in range(10):
        target = area * (erasing.scale[0] + (erasing.scale[1] - erasing.scale[0]) * draws.uniform())
        ratio = math.exp(log_min + (log_max - log_min) * draws.uniform())
        height, width = round(math.sqrt(target * ratio)), round(math.sqrt(target / ratio))
        if height < recipe.height and width < recipe.width:
            top = int(draws.uniform() * (recipe.height - height + 1))
            left = int(draws.uniform() * (recipe.width - width + 1))
            return Erased(top, left, height, width)
    return Erased()


def stream(key: int, number: int) -> Draws:
    """Return random numbers independent of those of the crop and of those of any other `number`."""
    return Draws(mix_number((key + number * OTHER_STREAM + GOLDEN) & MASK))


def _choose(step: Choosing, table: Table, draws: Draws) -> Operation:
    op = Op(int(draws.uniform() * NUM_CHOICES))
    drawn_bin = int(draws.uniform() * step.num_magnitude_bins)
    is_negative = draws.uniform() < 0.5
    value = float(table[op, drawn_bin if step.bin < 0 else step.bin])
    if Op.SHEAR_X <= op <= Op.SHARPNESS and is_negative:
        value = -value
    if Op.BRIGHTNESS <= op <= Op.SHARPNESS:
        value = 1.0 + value
    return Operation(op, value, step.fill, step.is_bilinear)


def _jitter(step: ColorJitter, draws: Draws) -> list[Operation]:
    order = [0, 1, 2, 3]
    for last in (3, 2, 1):
        other = int(draws.uniform() * (last + 1))
        order[last], order[other] = order[other], order[last]
    factors = []
    for found in step.ranges:
        low, high = found or (0.0, 0.0)
        factors.append(low + (high - low) * draws.uniform())
    return [Operation(JITTER_OPS[number], factors[number]) for number in order if step.ranges[number]]


def _random_resized(recipe: Recipe, draws: Draws, image_width: int, image_height: int) -> tuple[int, int, int, int]:
    area = float(image_width) * image_height
    log_min, log_max = math.log(recipe.ratio[0]), math.log(recipe.ratio[1])
    for _ in range(10):
        target = area * (recipe.scale[0] + (recipe.scale[1] - recipe.scale[0]) * draws.uniform())
        ratio = math.exp(log_min + (log_max - log_min) * draws.uniform())
        width, height = round(math.sqrt(target * ratio)), round(math.sqrt(target / ratio))
        if 0 < width <= image_width and 0 < height <= image_height:
            y = int(draws.uniform() * (image_height - height + 1))
            x = int(draws.uniform() * (image_width - width + 1))
            return x, y, width, height
    width, height = image_width, image_height
    if image_width / image_height < recipe.ratio[0]:
        height = min(max(round(image_width / recipe.ratio[0]), 1), image_height)
    elif image_width / image_height > recipe.ratio[1]:
        width = min(max(round(image_height * recipe.ratio[1]), 1), image_width)
    return (image_width - width) // 2, (image_height - height) // 2, width, height


def _short_side_to(side: int, width: int, height: int) -> tuple[int, int]:
    if width <= height:
        return side, side * height // width
    return side * width // height, side
