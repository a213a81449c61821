"""litdata: optimised chunks, Pillow or simplejpeg, StreamingDataLoader with two workers.

Files are stored as bytes: litdata would decode JPEG with compiled operators of torchvision, which has no build for the
CPU wheels of this PyTorch.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _torchvision import training_transform
from litdata import StreamingDataLoader, StreamingDataset, optimize
from PIL import Image


def _sample(path: str) -> dict[str, Any]:
    return {"image": Path(path).read_bytes(), "label": 0}


def prepare(data: Path) -> None:
    target = data / "litdata-bytes"
    if target.is_dir():
        return
    photos = sorted(str(path) for path in (data / "photos").glob("*/*.jpg"))
    optimize(fn=_sample, inputs=photos, output_dir=str(target), chunk_bytes="64MB", num_workers=1)


class _Images(StreamingDataset):  # type: ignore[misc]
    def __init__(self, folder: Path, make: Callable[[bytes], Any]) -> None:
        super().__init__(input_dir=str(folder), shuffle=True)
        self._make = make

    def __getitem__(self, at: Any) -> Any:
        sample = super().__getitem__(at)
        return self._make(sample["image"]), sample["label"]


class _ByPillow:
    def __init__(self) -> None:
        self._transform = training_transform()

    def __call__(self, encoded: bytes) -> Any:
        return self._transform(Image.open(io.BytesIO(encoded)).convert("RGB"))


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    return _pipeline(data, _ByPillow())


def open_fastest(data: Path) -> Callable[[], Iterator[int]]:
    from _fast_decoder import training_sample

    return _pipeline(data, training_sample)


def _pipeline(data: Path, make: Callable[[bytes], Any]) -> Callable[[], Iterator[int]]:
    images = _Images(data / "litdata-bytes", make)
    loader = StreamingDataLoader(images, batch_size=64, num_workers=2, persistent_workers=True)

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
