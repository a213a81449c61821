"""Which transforms are recognised, and that what replaces them draws like them.

torchvision's real Python transforms are used where it is installed (`pip install --no-deps torchvision`): its compiled
operators are declared empty, which the transforms do not miss. Without it, classes with its names stand in for it.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from danlu_accel.records import (
    ColorJitter,
    Erasing,
    IndexTFRDataset,
    RandAugment,
    Recipe,
    RecordLoader,
    TrivialAugment,
    native,
    recognise,
)
from danlu_accel.records.augment import Choosing, Op, Operation
from danlu_accel.records.draws import draw_erased, draw_geometry, draw_operations, keys_of
from danlu_accel.records.pillow_augment import augmented
from danlu_accel.records.recipe import Crop, NotRecognised

CHOICES = (
    "Identity ShearX ShearY TranslateX TranslateY Rotate Brightness Color Contrast Sharpness Posterize Solarize "
    "AutoContrast Equalize"
)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def _stand_ins() -> SimpleNamespace:
    def make(name: str, **defaults: Any) -> Callable[..., Any]:
        def remember(self: Any, *values: Any, **named: Any) -> None:
            self.__dict__.update({**defaults, **dict(zip(defaults, values)), **named})

        return type(name, (), {"__init__": remember, "__module__": "torchvision.transforms.transforms"})

    bilinear, nearest = SimpleNamespace(value="bilinear"), SimpleNamespace(value="nearest")
    return SimpleNamespace(
        Compose=make("Compose", transforms=()),
        RandomResizedCrop=make(
            "RandomResizedCrop", size=0, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interpolation=bilinear
        ),
        Resize=make("Resize", size=0, interpolation=bilinear, max_size=None),
        CenterCrop=make("CenterCrop", size=0),
        RandomHorizontalFlip=make("RandomHorizontalFlip", p=0.5),
        ToTensor=make("ToTensor"),
        PILToTensor=make("PILToTensor"),
        Normalize=make("Normalize", mean=(), std=()),
        ColorJitter=make("ColorJitter", brightness=None, contrast=None, saturation=None, hue=None),
        RandAugment=make(
            "RandAugment", num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=nearest, fill=None
        ),
        TrivialAugmentWide=make("TrivialAugmentWide", num_magnitude_bins=31, interpolation=nearest, fill=None),
        RandomErasing=make("RandomErasing", p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False),
        GaussianBlur=make("GaussianBlur", kernel_size=3),
        InterpolationMode=SimpleNamespace(NEAREST=nearest, BILINEAR=bilinear, BICUBIC=SimpleNamespace(value="bicubic")),
    )


_library: list[Any] = []


def _real_torchvision() -> Any:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return None
    if not _library:
        _library.append(torch.library.Library("torchvision", "DEF"))
        source = (Path(spec.origin).parent / "_meta_registrations.py").read_text()
        names = {*re.findall(r'register_meta\("(\w+)"\)', source), *re.findall(r"torchvision::(\w+)", source), "nms"}
        for name in sorted(names):
            _library[0].define(f"{name}(Tensor x) -> Tensor")
    return importlib.import_module("torchvision.transforms")


@pytest.fixture(params=["stand-ins", "torchvision"])
def T(request: pytest.FixtureRequest) -> Any:  # noqa: N802
    found = _stand_ins() if request.param == "stand-ins" else _real_torchvision()
    if found is None:
        pytest.skip("torchvision is not installed: pip install --no-deps torchvision")
    return found


@pytest.fixture
def torchvision_transforms() -> Any:
    found = _real_torchvision()
    if found is None:
        pytest.skip("torchvision is not installed: pip install --no-deps torchvision")
    return found


class TestRecognise:
    def test_the_training_transform(self, T: Any) -> None:  # noqa: N803
        steps = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)]
        assert recognise(T.Compose(steps)) == Recipe(flip_probability=0.5, mean=MEAN, std=STD)

    def test_the_evaluation_transform(self, T: Any) -> None:  # noqa: N803
        found = recognise(T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor()]))
        assert found == Recipe(Crop.CENTER, 224, 224, short_side=256)

    def test_a_plain_resize_to_bytes(self, T: Any) -> None:  # noqa: N803
        found = recognise(T.Compose([T.Resize((30, 40)), T.PILToTensor()]))
        assert found == Recipe(Crop.WHOLE, 30, 40, as_bytes=True)

    def test_augmentations_between_the_crop_and_the_tensor(self, T: Any) -> None:  # noqa: N803
        steps = [
            T.RandomResizedCrop(224),
            T.ColorJitter(brightness=(0.5, 1.5), hue=(-0.1, 0.1)),
            T.RandAugment(3, 12, fill=[1, 2, 3]),
            T.TrivialAugmentWide(interpolation=T.InterpolationMode.BILINEAR, fill=7),
            T.ToTensor(),
            T.Normalize(MEAN, STD),
            T.RandomErasing(0.1, value=[0.5, 0, 0]),
        ]
        augment = (
            ColorJitter(brightness=(0.5, 1.5), hue=(-0.1, 0.1)),
            RandAugment(3, 12, fill=(1, 2, 3)),
            TrivialAugment(fill=(7, 7, 7), is_bilinear=True),
        )
        erasing = Erasing(0.1, value=(0.5, 0.0, 0.0))
        assert recognise(T.Compose(steps)) == Recipe(mean=MEAN, std=STD, augment=augment, erasing=erasing)

    def test_the_second_version_of_torchvisions_transforms_is_known(self, torchvision_transforms: Any) -> None:
        v2 = importlib.import_module(torchvision_transforms.__name__ + ".v2")
        steps = [
            v2.RandomResizedCrop(9),
            v2.ColorJitter(hue=0.1),
            v2.TrivialAugmentWide(interpolation=v2.InterpolationMode.BILINEAR, fill=[1, 2, 3]),
            v2.PILToTensor(),
            v2.ToDtype(torch.float32, scale=True),
            v2.RandomErasing(0.1),
        ]
        found = recognise(v2.Compose(steps))
        assert isinstance(found, Recipe)
        assert found.augment == (ColorJitter(hue=(-0.1, 0.1)), TrivialAugment(fill=(1, 2, 3), is_bilinear=True))
        assert found.erasing == Erasing(0.1)

    def test_what_was_erased_before_is_normalised_too(self, T: Any) -> None:  # noqa: N803
        steps = [T.RandomResizedCrop(9), T.ToTensor(), T.RandomErasing(value=0.7), T.Normalize((0.5,) * 3, (0.1,) * 3)]
        found = recognise(T.Compose(steps))
        assert isinstance(found, Recipe)
        assert found.erased_value == pytest.approx((2.0, 2.0, 2.0))

    def test_bytes_are_erased_by_bytes(self, T: Any) -> None:  # noqa: N803
        found = recognise(T.Compose([T.RandomResizedCrop(9), T.PILToTensor(), T.RandomErasing(value=[1, 128, 255])]))
        assert isinstance(found, Recipe)
        assert found.erased_value == (1, 128, 255)

    def test_what_is_not_known_is_named(self, T: Any) -> None:  # noqa: N803
        cases = {
            "GaussianBlur": [T.RandomResizedCrop(9), T.GaussianBlur(3), T.ToTensor()],
            "ColorJitter comes after the conversion": [T.RandomResizedCrop(9), T.ToTensor(), T.ColorJitter()],
            "RandAugment before the crop": [T.RandAugment(), T.RandomResizedCrop(9), T.ToTensor()],
            "only nearest and bilinear": [
                T.RandomResizedCrop(9),
                T.TrivialAugmentWide(interpolation=T.InterpolationMode.BICUBIC),
                T.ToTensor(),
            ],
            "after pixels were moved": [T.RandomResizedCrop(9), T.RandAugment(), T.RandomHorizontalFlip()],
            "random values": [T.RandomResizedCrop(9), T.ToTensor(), T.RandomErasing(value="random")],
            "no byte": [T.RandomResizedCrop(9), T.PILToTensor(), T.RandomErasing(value=256)],
            "fill: expected": [T.RandomResizedCrop(9), T.RandAugment(fill=[1, 2]), T.ToTensor()],
            "short side alone": [T.Resize(256), T.ToTensor()],
            "no ToTensor": [T.RandomResizedCrop(9)],
            "no crop or resize": [T.ToTensor()],
            "bilinear": [T.RandomResizedCrop(9, interpolation=T.InterpolationMode.NEAREST), T.ToTensor()],
            "padded": [T.Resize(100), T.CenterCrop(224), T.ToTensor()],
            "after the conversion": [T.ToTensor(), T.RandomResizedCrop(9)],
        }
        for reason, steps in cases.items():
            found = recognise(T.Compose(steps))
            assert isinstance(found, NotRecognised)
            assert reason in found.reason

    def test_a_derived_class_is_never_replaced(self, T: Any) -> None:  # noqa: N803
        class MyCrop(T.RandomResizedCrop):  # type: ignore[misc]
            pass

        assert isinstance(recognise(T.Compose([MyCrop(224), T.ToTensor()])), NotRecognised)

    def test_no_compose(self) -> None:
        assert isinstance(recognise(lambda image: image), NotRecognised)


def _two_sample_distance(first: Any, second: Any) -> float:
    """Kolmogorov-Smirnov: the largest distance between the two empirical distributions."""
    values = np.sort(np.concatenate([first, second]))
    one = np.searchsorted(np.sort(first), values, side="right") / len(first)
    other = np.searchsorted(np.sort(second), values, side="right") / len(second)
    return float(np.abs(one - other).max())


class TestDistribution:
    @pytest.mark.parametrize(("width", "height"), [(500, 375), (375, 500), (60, 400)])
    def test_crops_are_drawn_as_torchvision_draws_them(
        self, torchvision_transforms: Any, width: int, height: int
    ) -> None:
        count = 4000
        torch.manual_seed(3)
        picture = torch.empty((3, height, width))
        crop = torchvision_transforms.RandomResizedCrop
        theirs = np.array([crop.get_params(picture, [0.08, 1.0], [3 / 4, 4 / 3]) for _ in range(count)])
        drawn = [draw_geometry(Recipe(), width, height, int(key)) for key in keys_of(1, 2, np.arange(count))]
        ours = np.array([(g.y, g.x, g.height, g.width) for g in drawn])
        limit = 1.95 * np.sqrt(2 / count)  # 0.1 % for each of the comparisons
        for column in range(4):
            assert _two_sample_distance(ours[:, column], theirs[:, column]) < limit
        assert _two_sample_distance(ours[:, 2] * ours[:, 3], theirs[:, 2] * theirs[:, 3]) < limit

    def test_half_of_the_images_are_mirrored(self) -> None:
        recipe = Recipe(flip_probability=0.5)
        flips = [draw_geometry(recipe, 50, 40, int(key)).flip for key in keys_of(0, 0, np.arange(4000))]
        assert abs(np.mean(flips) - 0.5) < 0.03


class TestMeaning:
    """Pillow's side of our operations against torchvision's own code, on the same picture."""

    NAMES = dict(zip(Op, CHOICES.split()))

    @pytest.mark.parametrize("is_bilinear", [False, True])
    @pytest.mark.parametrize("step", [RandAugment(magnitude=9), TrivialAugment()], ids=["RandAugment", "Trivial"])
    def test_operations_are_torchvisions(self, torchvision_transforms: Any, step: Choosing, is_bilinear: bool) -> None:
        from PIL import Image

        autoaugment = importlib.import_module("torchvision.transforms.autoaugment")
        mode = torchvision_transforms.InterpolationMode
        pixels = np.random.default_rng(2).integers(0, 256, (50, 61, 3), dtype=np.uint8)
        table = step.table(61, 50)
        for op, name in self.NAMES.items():
            signs = (1, -1) if Op.SHEAR_X <= op <= Op.SHARPNESS else (1,)
            for magnitude in {sign * float(value) for value in table[op] for sign in signs}:
                expected = autoaugment._apply_op(
                    Image.fromarray(pixels), name, magnitude, mode.BILINEAR if is_bilinear else mode.NEAREST, [4, 5, 6]
                )
                value = magnitude + 1.0 if Op.BRIGHTNESS <= op <= Op.SHARPNESS else magnitude
                ours = augmented(pixels, [Operation(op, value, (4, 5, 6), is_bilinear)])
                assert np.array_equal(ours, np.asarray(expected)), (name, magnitude)

    def test_magnitudes_are_torchvisions(self, torchvision_transforms: Any) -> None:
        theirs = {
            RandAugment(): torchvision_transforms.RandAugment()._augmentation_space(31, (50, 61)),
            TrivialAugment(): torchvision_transforms.TrivialAugmentWide()._augmentation_space(31),
        }
        for step, space in theirs.items():
            table = step.table(61, 50)
            assert list(space) == list(self.NAMES.values())
            for op, (values, _) in zip(self.NAMES, space.values()):
                assert np.abs(table[op] - values.numpy()).max() < 1e-5

    def test_jitter_is_torchvisions(self, torchvision_transforms: Any) -> None:
        from PIL import Image

        functional = torchvision_transforms.functional
        pixels = np.random.default_rng(2).integers(0, 256, (50, 61, 3), dtype=np.uint8)
        kinds = {
            Op.BRIGHTNESS: functional.adjust_brightness,
            Op.CONTRAST: functional.adjust_contrast,
            Op.COLOR: functional.adjust_saturation,
            Op.HUE: functional.adjust_hue,
        }
        for op, adjust in kinds.items():
            for factor in np.linspace(-0.5, 0.5, 11) if op is Op.HUE else np.linspace(0, 2, 11):
                expected = np.asarray(adjust(Image.fromarray(pixels), float(factor)))
                assert np.array_equal(augmented(pixels, [Operation(op, float(factor))]), expected)

    def test_rectangles_are_drawn_as_torchvision_draws_them(self, torchvision_transforms: Any) -> None:
        count = 3000
        torch.manual_seed(5)
        picture, erasing = torch.empty((3, 80, 120)), Erasing(1.0)
        get = torchvision_transforms.RandomErasing.get_params
        theirs = np.array([get(picture, erasing.scale, erasing.ratio, [0.0])[:4] for _ in range(count)])
        recipe = Recipe(height=80, width=120, erasing=erasing)
        drawn = [draw_erased(recipe, int(key)) for key in keys_of(1, 2, np.arange(count))]
        ours = np.array([(each.top, each.left, each.height, each.width) for each in drawn])
        for column in range(4):
            assert _two_sample_distance(ours[:, column], theirs[:, column]) < 1.95 * np.sqrt(2 / count)

    def test_factors_are_drawn_as_torchvision_draws_them(self, torchvision_transforms: Any) -> None:
        count = 2000
        torch.manual_seed(6)
        found = torchvision_transforms.ColorJitter(0.4, 0.3, 0.2, 0.1)
        theirs = [found.get_params(found.brightness, found.contrast, found.saturation, found.hue) for _ in range(count)]
        recipe = Recipe(augment=(ColorJitter(found.brightness, found.contrast, found.saturation, found.hue),))
        drawn = [draw_operations(recipe, int(key)) for key in keys_of(1, 2, np.arange(count))]
        for number, op in enumerate((Op.BRIGHTNESS, Op.CONTRAST, Op.COLOR, Op.HUE), 1):
            factors = np.array([each.value for operations in drawn for each in operations if each.op is op])
            expected = np.array([each[number] for each in theirs])
            assert _two_sample_distance(factors, expected) < 1.95 * np.sqrt(2 / count)


class TestEndToEnd:
    @pytest.mark.skipif(native.core is None, reason=native.advice())
    def test_a_recognised_compose_gives_torchvisions_tensors(
        self, torchvision_transforms: Any, packed: Callable[..., Path]
    ) -> None:
        tv = torchvision_transforms
        path = packed(8)
        compose = tv.Compose([tv.Resize(60), tv.CenterCrop(48), tv.ToTensor(), tv.Normalize(MEAN, STD)])
        fast = IndexTFRDataset(path.parent, path.name, compose)
        slow = IndexTFRDataset(path.parent, path.name, lambda image: compose(image))  # noqa: PLW0108
        assert (fast.is_fast, slow.is_fast) == (True, False)
        for position in range(8):
            assert (fast[position][0] - slow[position][0]).abs().max() <= 1.01 / 255 / min(STD)
        with RecordLoader(path.parent, path.name, compose, batch_size=8, shuffle=False) as loader:
            images, _ = next(iter(loader))
            assert torch.equal(images, torch.stack([fast[position][0] for position in range(8)]))
