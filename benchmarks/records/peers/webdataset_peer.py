"""webdataset: tar shards, Pillow, WebLoader with two workers."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import webdataset as wds
from _torchvision import training_transform

SHARDS = 8


def prepare(data: Path) -> None:
    target = data / "webdataset"
    if target.is_dir():
        return
    target.mkdir()
    photos = sorted((data / "photos").glob("*/*.jpg"))
    for shard in range(SHARDS):
        with tarfile.open(target / f"{shard:05d}.tar", "w") as tar:
            for number in range(shard, len(photos), SHARDS):
                _add(tar, f"{number:06d}.jpg", photos[number].read_bytes())
                _add(tar, f"{number:06d}.cls", b"0")


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    transform = training_transform()
    shards = sorted(str(path) for path in (data / "webdataset").glob("*.tar"))

    def sample(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        return transform(pair[0]), pair[1]

    dataset = wds.WebDataset(shards, shardshuffle=SHARDS, nodesplitter=wds.split_by_node).shuffle(1000).decode("pil")
    dataset = dataset.to_tuple("jpg", "cls").map(sample).batched(64)
    loader = wds.WebLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
