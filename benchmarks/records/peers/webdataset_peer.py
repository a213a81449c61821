"""webdataset: tar shards, Pillow or simplejpeg, WebLoader with two workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import webdataset as wds
from _tars import SHARDS, prepare  # noqa: F401
from _torchvision import training_transform


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    return _pipeline(_shuffled(data).decode("pil"), training_transform())


def open_fastest(data: Path) -> Callable[[], Iterator[int]]:
    from _fast_decoder import training_sample

    return _pipeline(_shuffled(data), training_sample)


def _shuffled(data: Path) -> Any:
    shards = sorted(str(path) for path in (data / "webdataset").glob("*.tar"))
    return wds.WebDataset(shards, shardshuffle=SHARDS, nodesplitter=wds.split_by_node).shuffle(1000)


def _pipeline(dataset: Any, make: Callable[[Any], Any]) -> Callable[[], Iterator[int]]:
    def sample(pair: tuple[Any, Any]) -> tuple[Any, int]:
        return make(pair[0]), int(pair[1])

    dataset = dataset.to_tuple("jpg", "cls").map(sample).batched(64)
    loader = wds.WebLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
