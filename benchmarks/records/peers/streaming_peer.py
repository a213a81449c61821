"""mosaicml-streaming: MDS shards, Pillow, DataLoader with two workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _torchvision import training_transform
from streaming import MDSWriter, StreamingDataset
from torch.utils.data import DataLoader


def prepare(data: Path) -> None:
    target = data / "mds"
    if target.is_dir():
        return
    with MDSWriter(out=str(target), columns={"image": "jpeg", "label": "int"}) as writer:
        from PIL import Image

        for path in sorted((data / "photos").glob("*/*.jpg")):
            writer.write({"image": Image.open(path), "label": 0})


class _Images(StreamingDataset):  # type: ignore[misc]
    def __init__(self, folder: Path) -> None:
        super().__init__(local=str(folder), shuffle=True, batch_size=64)
        self._transform = training_transform()

    def __getitem__(self, at: int) -> Any:
        sample = super().__getitem__(at)
        return self._transform(sample["image"].convert("RGB")), sample["label"]


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    loader = DataLoader(_Images(data / "mds"), 64, num_workers=2, persistent_workers=True)

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
