"""Transforms of a user's own, in Python threads: what they return is the batch, and torch stays in their thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from danlu_accel.records import LoaderOptions, RecordLoader


def pixels(picture: Any) -> torch.Tensor:
    return torch.from_numpy(np.asarray(picture.resize((8, 8))).copy())


def made(path: Path, transform: Any, **more: Any) -> list[tuple[torch.Tensor, list[int]]]:
    with RecordLoader(path.parent, path.name, transform, batch_size=5, **more) as loader:
        return [(images, labels.tolist()) for images, labels in loader]


class TestBatches:
    def test_a_batch_that_is_kept_is_never_overwritten(self, packed: Callable[..., Path]) -> None:
        path = packed(23)
        with RecordLoader(path.parent, path.name, pixels, batch_size=5) as loader:
            kept = [(images, images.clone()) for _ in range(3) for images, _ in loader]
        assert all(torch.equal(images, copy) for images, copy in kept)

    def test_memory_is_used_again(self, packed: Callable[..., Path]) -> None:
        path = packed(40)
        places = set()
        with RecordLoader(path.parent, path.name, pixels, batch_size=5) as loader:
            for _ in range(3):
                for images, _ in loader:
                    places.add(images.data_ptr())
                    del images
        assert len(places) <= 5  # of 24 batches

    @pytest.mark.parametrize(
        "change",
        [
            lambda image: image.to(torch.bfloat16),
            lambda image: image.float().requires_grad_(),
            lambda image: image.numpy(),
            lambda image: image.to(torch.int64).permute(2, 0, 1),
            lambda image: image.float().mean(),
            lambda image: float(image.float().mean()),
        ],
    )
    def test_whatever_a_tensor_can_be_made_of(self, packed: Callable[..., Path], change: Callable[[Any], Any]) -> None:
        path = packed(12)
        plain = made(path, pixels)
        for (images, labels), (expected, same_labels) in zip(
            made(path, lambda picture: change(pixels(picture))), plain
        ):
            assert labels == same_labels
            wanted = torch.stack([torch.as_tensor(change(image)) for image in expected])
            assert images.dtype == wanted.dtype
            assert torch.equal(images, wanted)

    def test_samples_of_different_shapes_are_an_error(self, packed: Callable[..., Path]) -> None:
        path = packed(12)
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            made(path, lambda picture: torch.zeros(picture.size))


class TestThreads:
    def test_torch_stays_in_the_thread_of_a_transform_and_nowhere_else(self, packed: Callable[..., Path]) -> None:
        path = packed(12)
        usual = torch.get_num_threads()
        torch.set_num_threads(3)
        try:
            found = made(path, lambda _: torch.tensor(torch.get_num_threads()), options=LoaderOptions(threads=2))
            assert {count for images, _ in found for count in images.tolist()} == {1}
            assert torch.get_num_threads() == 3
            with ThreadPoolExecutor(1) as others:
                assert others.submit(torch.get_num_threads).result() == 3
        finally:
            torch.set_num_threads(usual)
