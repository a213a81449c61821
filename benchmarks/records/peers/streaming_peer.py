"""mosaicml-streaming: MDS shards, Pillow or simplejpeg, DataLoader with two workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _torchvision import training_transform
from streaming import MDSWriter, StreamingDataset
from torch.utils.data import DataLoader


def prepare(data: Path) -> None:
    from PIL import Image

    photos = sorted((data / "photos").glob("*/*.jpg"))
    if not (data / "mds").is_dir():
        with MDSWriter(out=str(data / "mds"), columns={"image": "jpeg", "label": "int"}) as writer:
            for path in photos:
                writer.write({"image": Image.open(path), "label": 0})
    if not (data / "mds-bytes").is_dir():  # for decoders supplied by the user
        with MDSWriter(out=str(data / "mds-bytes"), columns={"image": "bytes", "label": "int"}) as writer:
            for path in photos:
                writer.write({"image": path.read_bytes(), "label": 0})


class _Images(StreamingDataset):  # type: ignore[misc]
    def __init__(self, folder: Path) -> None:
        super().__init__(local=str(folder), shuffle=True, batch_size=64)
        self._transform = training_transform()

    def __getitem__(self, at: int) -> Any:
        sample = super().__getitem__(at)
        return self._transform(sample["image"].convert("RGB")), sample["label"]


class _FastImages(StreamingDataset):  # type: ignore[misc]
    def __init__(self, folder: Path) -> None:
        super().__init__(local=str(folder), shuffle=True, batch_size=64)

    def __getitem__(self, at: int) -> Any:
        from _fast_decoder import training_sample

        sample = super().__getitem__(at)
        return training_sample(sample["image"]), sample["label"]


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    return _pipeline(_Images(data / "mds"))


def open_fastest(data: Path) -> Callable[[], Iterator[int]]:
    return _pipeline(_FastImages(data / "mds-bytes"))


def _pipeline(dataset: Any) -> Callable[[], Iterator[int]]:
    loader = DataLoader(dataset, 64, num_workers=2, persistent_workers=True)

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
