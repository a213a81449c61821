"""litdata: optimised chunks, Pillow, StreamingDataLoader with two workers.

Files are stored as bytes: what litdata stores as JPEG it decodes with compiled operators of torchvision, which has no
build for the CPU wheels of this PyTorch.
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
    def __init__(self, folder: Path) -> None:
        super().__init__(input_dir=str(folder), shuffle=True)
        self._transform = training_transform()

    def __getitem__(self, at: Any) -> Any:
        sample = super().__getitem__(at)
        image = Image.open(io.BytesIO(sample["image"])).convert("RGB")
        return self._transform(image), sample["label"]


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    loader = StreamingDataLoader(_Images(data / "litdata-bytes"), batch_size=64, num_workers=2, persistent_workers=True)

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
