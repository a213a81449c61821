"""Augmentations: the core against Pillow, and draws that depend on nothing but their key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from danlu_accel.records import (
    ColorJitter,
    Erasing,
    IndexTFRDataset,
    LoaderOptions,
    RandAugment,
    Recipe,
    RecordLoader,
    TrivialAugment,
    native,
)
from danlu_accel.records.augment import Erased, Op, Operation
from danlu_accel.records.draws import draw_erased, draw_geometry, draw_operations, keys_of
from danlu_accel.records.native import to_native
from danlu_accel.records.pillow_augment import augmented
from danlu_accel.records.pillow_path import erase, finish

core: Any = native.core
needs_core = pytest.mark.skipif(core is None, reason=native.advice())
Pixels = np.ndarray[Any, Any]

JITTER = ColorJitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4), (-0.1, 0.1))
RECIPES = {
    "RandAugment": Recipe(augment=(RandAugment(),)),
    "RandAugment, bilinear": Recipe(width=90, augment=(RandAugment(5, 30, fill=(9, 80, 255), is_bilinear=True),)),
    "TrivialAugment": Recipe(augment=(TrivialAugment(),)),
    "jitter": Recipe(augment=(JITTER,)),
    "part of a jitter": Recipe(augment=(ColorJitter(contrast=(0.0, 3.0), hue=(-0.5, 0.5)),)),
    "all": Recipe(height=33, augment=(JITTER, RandAugment(1), TrivialAugment(9)), erasing=Erasing(0.7)),
    "erasing": Recipe(erasing=Erasing(1.0, (0.5, 1.0), (0.1, 10.0))),
}
VALUES: dict[Op, tuple[float, ...]] = {
    Op.IDENTITY: (0.0,),
    Op.SHEAR_X: (0.0, 0.3, -0.99, 0.1234),
    Op.SHEAR_Y: (0.0, -0.3, 0.99, 0.1234),
    Op.TRANSLATE_X: (0.0, 3.9, -7.2, 500.0),
    Op.TRANSLATE_Y: (0.0, -3.9, 7.2, -500.0),
    Op.ROTATE: (0.0, 30.0, -30.0, 90.0, -90.0, 135.0, 4.5),
    Op.BRIGHTNESS: (0.0, 0.1, 1.0, 1.9, 2.7),
    Op.COLOR: (0.0, 0.1, 1.0, 1.9, 2.7),
    Op.CONTRAST: (0.0, 0.1, 1.0, 1.9, 2.7),
    Op.SHARPNESS: (0.0, 0.1, 1.0, 1.9, 2.7),
    Op.POSTERIZE: (2.0, 4.0, 8.0),
    Op.SOLARIZE: (0.0, 100.0, 127.5, 255.0),
    Op.AUTOCONTRAST: (0.0,),
    Op.EQUALIZE: (0.0,),
    Op.HUE: (0.0, 0.1, -0.1, 0.5, -0.5, 0.03),
}


def pictures() -> list[Pixels]:
    """Noise, soft colours, one level only, few levels, and shapes as thin as they get."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[0:61, 0:83]
    soft = np.stack([128 + 60 * np.sin(x / 9 + y / 7 + phase) for phase in (0, 1, 2)], -1).astype(np.uint8)
    few = rng.choice(np.array([0, 3, 200, 255], np.uint8), (40, 40, 3))
    flat = np.full((20, 30, 3), (10, 200, 77), np.uint8)
    noise = [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for size in ((64, 64), (1, 1), (2, 9), (50, 3), (7, 65))]
    return [soft, few, flat, *noise]


def by_core(pixels: Pixels, operation: Operation) -> Pixels:
    rgbx = np.dstack([pixels, np.full(pixels.shape[:2], 3, np.uint8)])
    core.augment(rgbx, int(operation.op), operation.value, operation.fill, operation.is_bilinear)
    return rgbx[..., :3]


def are_same(one: Pixels, other: Pixels, operation: Operation) -> bool:
    """To the last bit; a picture that is rotated and read bilinearly may differ by one level."""
    if operation.op is Op.ROTATE and operation.is_bilinear:
        return int(np.abs(one.astype(int) - other).max()) <= 1
    return np.array_equal(one, other)


@needs_core
class TestPixels:
    @pytest.mark.parametrize("op", list(Op), ids=lambda op: op.name)
    @pytest.mark.parametrize("is_bilinear", [False, True], ids=["nearest", "bilinear"])
    def test_the_core_gives_pillows_pixels(self, op: Op, is_bilinear: bool) -> None:
        for pixels in pictures():
            for value in VALUES[op]:
                operation = Operation(op, value, (250, 7, 90), is_bilinear)
                assert are_same(by_core(pixels, operation), augmented(pixels, [operation]), operation), value

    @settings(max_examples=60, deadline=None)
    @given(
        width=st.integers(1, 70),
        height=st.integers(1, 70),
        seed=st.integers(0, 2**32),
        op=st.sampled_from(Op),
        part=st.floats(0, 1),
        is_bilinear=st.booleans(),
    )
    def test_it_does_for_any_size_and_magnitude(
        self, width: int, height: int, seed: int, op: Op, part: float, is_bilinear: bool
    ) -> None:
        pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
        low, high = min(VALUES[op]), max(VALUES[op])
        operation = Operation(op, low + (high - low) * part, (1, 2, 3), is_bilinear)
        assert are_same(by_core(pixels, operation), augmented(pixels, [operation]), operation)

    def test_every_colour_keeps_its_hue_exactly(self) -> None:
        levels = np.arange(0, 256, 5, dtype=np.uint8)
        cube = np.stack(np.meshgrid(levels, levels, levels), -1).reshape(52, -1, 3)
        for value in (0.0, 0.21, -0.37):
            operation = Operation(Op.HUE, value)
            assert np.array_equal(by_core(cube, operation), augmented(cube, [operation]))

    def test_what_makes_no_sense_is_refused(self) -> None:
        pixels = np.zeros((4, 4, 4), np.uint8)
        for op, value in ((15, 0.0), (-1, 0.0), (6, float("nan")), (6, 1e7)):
            with pytest.raises(ValueError, match="no such operation"):
                core.augment(pixels, op, value, (0, 0, 0), False)
        with pytest.raises(ValueError, match="range of factors"):
            core.Recipe().add_jitter([0, 1, 0, 1, 0, 1, -0.6, 0.5], [True] * 4)
        with pytest.raises(ValueError, match="table of 14 rows"):
            core.Recipe().add_choices((1, 3), np.zeros((14, 3)), (0, 0, 0), False)
        with pytest.raises(ValueError, match="magnitude"):
            core.Recipe().add_choices((1, 0), np.full((14, 3), np.nan), (0, 0, 0), False)


@needs_core
class TestDraws:
    @pytest.mark.parametrize("name", RECIPES)
    def test_python_and_native_draw_the_same(self, name: str) -> None:
        recipe = RECIPES[name]
        native_recipe = to_native(recipe)
        for key in keys_of(3, 1, np.arange(300)):
            operations, erased = core.draw_changes(native_recipe, int(key))
            assert [Operation(Op(op), *rest) for op, *rest in operations] == draw_operations(recipe, int(key))
            assert Erased(*erased) == draw_erased(recipe, int(key))

    def test_the_crop_does_not_depend_on_what_follows_it(self) -> None:
        plain, rich = Recipe(flip_probability=0.5), Recipe(flip_probability=0.5, augment=(JITTER,), erasing=Erasing())
        for key in range(50):
            assert draw_geometry(plain, 90, 70, key) == draw_geometry(rich, 90, 70, key)


def test_operations_come_with_torchvisions_probabilities() -> None:
    recipe = Recipe(augment=(TrivialAugment(),))
    drawn = [operation for key in keys_of(5, 0, np.arange(14000)) for operation in draw_operations(recipe, int(key))]
    counts = np.bincount([operation.op for operation in drawn], minlength=14)
    assert len(counts) == 14
    assert abs(counts - 1000).max() < 130
    angles = np.array([operation.value for operation in drawn if operation.op is Op.ROTATE])
    assert set(np.round(np.abs(angles) / 4.5, 6)) == set(range(31))
    assert 0.4 < (angles > 0).mean() < 0.6


def test_a_jitters_order_is_any_of_the_24() -> None:
    recipe = Recipe(augment=(JITTER,))
    orders = {tuple(each.op for each in draw_operations(recipe, int(key))) for key in keys_of(5, 0, np.arange(600))}
    assert len(orders) == 24


class TestErasing:
    @pytest.mark.parametrize("channels_last", [False, True])
    def test_bytes_are_normalised_to_the_colour(self, channels_last: bool) -> None:
        made = []
        for as_bytes in (False, True):
            recipe = Recipe(
                height=20,
                width=30,
                mean=(0.4, 0.5, 0.6),
                std=(0.2, 0.3, 0.25),
                as_bytes=as_bytes,
                channels_last=channels_last,
                erasing=Erasing(value=(0.0, -1.0, 9.0)),
            )
            pixels = erase(finish(np.full((20, 30, 3), 90, np.uint8), recipe), recipe, Erased(3, 5, 7, 9))
            images = torch.from_numpy(pixels)[None]
            made.append(recipe.normalised(images.permute(0, 3, 1, 2) if channels_last else images))
        floats, from_bytes = made
        assert floats[0, 0, 3:10, 5:14].eq(0).all()
        assert floats[0, 0].eq(0).sum() == 63
        assert (floats[0, :2] - from_bytes[0, :2]).abs().max() < 0.51 / 255 / 0.2
        assert from_bytes[0, 2, 3, 5] == pytest.approx((1 - 0.6) / 0.25)  # brighter than white is white

    def test_areas_are_torchvisions(self) -> None:
        recipe = Recipe(height=100, width=200, erasing=Erasing(1.0))
        drawn = [draw_erased(recipe, int(key)) for key in keys_of(1, 1, np.arange(2000))]
        areas = np.array([each.height * each.width / 20000 for each in drawn])
        assert 0.015 < areas[areas > 0].min() < 0.03
        assert 0.3 < areas.max() < 0.34
        assert all(each.top + each.height <= 100 and each.left + each.width <= 200 for each in drawn)


class TestBatches:
    RECIPE = Recipe(
        height=40,
        width=48,
        flip_probability=0.5,
        as_bytes=True,
        augment=(ColorJitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4)), TrivialAugment()),
        erasing=Erasing(0.5),
    )

    def test_any_threads_ranks_and_restarts_give_the_same_images(self, packed: Callable[..., Path]) -> None:
        path = packed(24)

        def images_of(world_size: int, threads: int, batch_size: int) -> dict[int, Any]:
            found = {}
            for rank in range(world_size):
                options = LoaderOptions(seed=4, rank=rank, world_size=world_size, threads=threads)
                with RecordLoader(
                    path.parent, path.name, self.RECIPE, batch_size=batch_size, options=options
                ) as loader:
                    order = loader._order().records(np.arange(24))
                    place = 0
                    for images, _ in loader:
                        for number, image in enumerate(images):
                            position = place * world_size + rank * len(images) + number
                            found[int(order[position])] = image.clone()
                        place += len(images)
            return found

        first, second = images_of(1, 1, 8), images_of(3, 2, 4)
        assert first.keys() == second.keys()
        assert all(torch.equal(first[record], second[record]) for record in first)

    @needs_core
    def test_the_core_gives_what_pillow_makes_of_its_crop(self, packed: Callable[..., Path]) -> None:
        """Two crops may differ by one level, and an operation may widen that: both get the same crop."""
        path = packed(12)
        crops = IndexTFRDataset(path.parent, path.name)
        plain = Recipe(height=40, width=48, flip_probability=0.5, as_bytes=True)
        for position in range(12):
            image = crops.shards.image(crops.index.entries[position])
            for key in range(9):
                results = []
                for recipe in (plain, self.RECIPE):
                    out = np.empty((3, 40, 48), np.uint8)
                    assert core.load(image, to_native(recipe), key, out.ctypes.data, out.nbytes)[0] == 0
                    results.append(out)
                crop, made = results
                changed = augmented(np.ascontiguousarray(crop.transpose(1, 2, 0)), draw_operations(self.RECIPE, key))
                expected = erase(finish(changed, self.RECIPE), self.RECIPE, draw_erased(self.RECIPE, key))
                assert np.array_equal(made, expected)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: RandAugment(magnitude=31), "magnitude"),
        (lambda: RandAugment(num_ops=-1), "num_ops"),
        (lambda: TrivialAugment(1), "num_magnitude_bins"),
        (lambda: TrivialAugment(fill=(0, 0, 256)), "fill"),
        (lambda: ColorJitter(brightness=(-1, 1)), "brightness"),
        (lambda: ColorJitter(hue=(0, 0.6)), "hue"),
        (lambda: Erasing(scale=(0.5, 0.1)), "scale"),
        (lambda: Erasing(value=(0, 0, float("nan"))), "value"),
        (lambda: Recipe(augment=(Image,)), "augment"),  # type: ignore[arg-type]
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make: Callable[[], object], field: str) -> None:
    with pytest.raises(ValueError, match=f"^{field}: expected"):
        make()
