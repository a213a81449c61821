"""MixUp and CutMix: what is drawn, what comes of it, and that ranks and restarts change nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from danlu_accel.records import LoaderOptions, Recipe, RecordLoader
from danlu_accel.records.draws import keys_of
from danlu_accel.records.mixing import Mixing, draw_mixture, mix, partners

BOTH = Mixing(53, mixup_alpha=0.4, cutmix_alpha=1.0)
RECIPE = Recipe(height=16, width=12)


class TestDraws:
    @pytest.mark.parametrize("alpha", [0.1, 0.4, 1.0, 8.0])
    def test_shares_have_the_beta_distribution(self, alpha: float) -> None:
        drawn = [draw_mixture(Mixing(2, alpha), 8, 8, int(key)).share for key in keys_of(0, 0, np.arange(4000))]
        assert np.mean(drawn) == pytest.approx(0.5, abs=0.03)
        assert np.var(drawn) == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.1)

    def test_a_box_has_the_share_that_its_label_says(self) -> None:
        for key in range(300):
            drawn = draw_mixture(Mixing(2, cutmix_alpha=1.0), 40, 30, key)
            assert drawn.box is not None
            left, top, right, bottom = drawn.box
            assert 0 <= left <= right <= 40
            assert 0 <= top <= bottom <= 30
            assert drawn.share == pytest.approx(1 - (right - left) * (bottom - top) / 1200)

    def test_a_probability_leaves_records_alone(self) -> None:
        drawn = [
            draw_mixture(Mixing(2, 1.0, probability=0.3), 8, 8, int(key)) for key in keys_of(0, 0, np.arange(2000))
        ]
        assert np.mean([mixture.share == 1.0 for mixture in drawn]) == pytest.approx(0.7, abs=0.05)


def test_records_side_by_side_are_partners() -> None:
    assert partners(np.array([4, 5, 6, 7])) == [1, 0, 3, 2]
    assert partners(np.array([3, 4, 5, 0])) == [0, 2, 1, 3]


class TestMix:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
    def test_it_is_torchvisions_sum_of_shares(self, dtype: torch.dtype) -> None:
        torch.manual_seed(0)
        before = torch.randint(0, 256, (6, 3, 16, 12)).to(dtype)
        keys = keys_of(9, 0, np.arange(6))
        images, labels = before.clone(), torch.tensor([5, 1, 2, 2, 7, 0])
        shares = mix(Mixing(8, 1.0), images, labels, np.arange(6), keys)
        for place in range(6):
            share, partner = draw_mixture(Mixing(8, 1.0), 12, 16, int(keys[place])).share, place ^ 1
            expected = share * before[place].double() + (1 - share) * before[partner].double()
            assert (images[place].double() - expected).abs().max() <= (0.51 if dtype == torch.uint8 else 1e-3)
            assert shares[place, labels[place]] >= share - 1e-6
            assert float(shares[place].sum()) == pytest.approx(1)

    def test_a_box_comes_from_the_partner(self) -> None:
        before = torch.arange(4.0).reshape(4, 1, 1, 1).expand(4, 3, 16, 12)
        keys = keys_of(1, 0, np.arange(4))
        images = before.clone()
        mixing = Mixing(4, cutmix_alpha=1.0)
        shares = mix(mixing, images, torch.arange(4), np.arange(4), keys)
        for place in range(4):
            own = (images[place, 0] == place).float().mean()
            assert float(shares[place, place]) == pytest.approx(float(own), abs=1e-6)
            assert float(shares[place, place ^ 1]) == pytest.approx(1 - float(own), abs=1e-6)

    def test_a_label_beyond_the_classes_is_named(self) -> None:
        with pytest.raises(ValueError, match="num_classes: expected more than every label"):
            mix(
                Mixing(3, 1.0), torch.zeros(2, 3, 4, 4), torch.tensor([0, 3]), np.arange(2), keys_of(0, 0, np.arange(2))
            )


class TestLoader:
    def batches(self, path: Path, world_size: int, batch_size: int, **state: Any) -> dict[int, tuple[Any, Any]]:
        """The batches of all ranks, as an image and a label for each position of the epoch."""
        found: dict[int, tuple[Any, Any]] = {}
        for rank in range(world_size):
            options = LoaderOptions(seed=2, rank=rank, world_size=world_size, drop_last=True, mixing=BOTH)
            with RecordLoader(path.parent, path.name, RECIPE, batch_size=batch_size, options=options) as loader:
                if state:
                    loader.load_state_dict({**loader.state_dict(), **state})
                begin = state.get("position", 0)
                for images, labels in loader:
                    for number in range(batch_size):
                        found[begin + rank * batch_size + number] = images[number].clone(), labels[number].clone()
                    begin += batch_size * world_size
        return found

    def test_ranks_and_restarts_mix_the_same(self, numbered: Callable[..., Path]) -> None:
        path = numbered()
        first, ranks = self.batches(path, 1, 8), self.batches(path, 3, 4)
        resumed = self.batches(path, 2, 6, position=16)
        assert set(first) == set(range(48))
        assert set(resumed) == set(range(16, 52))
        for other in (ranks, resumed):
            for position in first.keys() & other.keys():
                assert torch.equal(first[position][0], other[position][0])
                assert torch.equal(first[position][1], other[position][1])
        mixed = [labels.gt(0).sum() == 2 for _, labels in first.values()]
        assert np.mean(mixed) > 0.8


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"num_classes": 0, "mixup_alpha": 1.0}, "num_classes"),
        ({"num_classes": 2}, "mixup_alpha, cutmix_alpha"),
        ({"num_classes": 2, "cutmix_alpha": -1.0}, "cutmix_alpha"),
        ({"num_classes": 2, "mixup_alpha": 1.0, "probability": 2.0}, "probability"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(values: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=f"^{field}: expected"):
        Mixing(**values)
