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

from danlu_accel.records import IndexTFRDataset, Recipe, RecordLoader, native, recognise
from danlu_accel.records.draws import draw_geometry, keys_of
from danlu_accel.records.recipe import Crop, NotRecognised

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def _stand_ins() -> SimpleNamespace:
    def make(name: str, **defaults: Any) -> Callable[..., Any]:
        def remember(self: Any, *values: Any, **named: Any) -> None:
            self.__dict__.update({**defaults, **dict(zip(defaults, values)), **named})

        return type(name, (), {"__init__": remember, "__module__": "torchvision.transforms.transforms"})

    bilinear = SimpleNamespace(value="bilinear")
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
        ColorJitter=make("ColorJitter", brightness=0),
        InterpolationMode=SimpleNamespace(NEAREST=SimpleNamespace(value="nearest")),
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

    def test_what_is_not_known_is_named(self, T: Any) -> None:  # noqa: N803
        cases = {
            "ColorJitter": [T.RandomResizedCrop(9), T.ColorJitter(0.1), T.ToTensor()],
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
