"""ffcv with raw pixels on disk, its fastest lossless format: seven times the size of the JPEG files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter


class _Photos:
    def __init__(self, folder: Path) -> None:
        self._paths = sorted(folder.glob("*/*.jpg"))

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, at: int) -> Any:
        from PIL import Image

        return Image.open(self._paths[at]).convert("RGB"), 0


def prepare(data: Path) -> None:
    target = data / "raw.beton"
    if target.is_file():
        return
    fields = {"image": RGBImageField(write_mode="raw"), "label": IntField()}
    DatasetWriter(str(target), fields, num_workers=2).from_indexed_dataset(_Photos(data / "photos"))


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    mean, std = np.array([0.485, 0.456, 0.406]) * 255, np.array([0.229, 0.224, 0.225]) * 255
    image = [
        RandomResizedCropRGBImageDecoder((224, 224)),
        RandomHorizontalFlip(),
        NormalizeImage(mean, std, np.float32),  # on the CPU it must come before the conversion to a tensor
        ToTensor(),
        ToTorchImage(),
    ]
    loader = Loader(
        str(data / "raw.beton"),
        batch_size=64,
        num_workers=2,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=False,
        pipelines={"image": image, "label": [IntDecoder(), ToTensor()]},
    )

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
