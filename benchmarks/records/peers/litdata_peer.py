"""litdata: optimised chunks, Pillow, StreamingDataLoader with two workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _torchvision import training_transform
from litdata import StreamingDataLoader, StreamingDataset, optimize


def _sample(path: str) -> dict[str, Any]:
    from PIL import Image

    return {"image": Image.open(path), "label": 0}


def prepare(data: Path) -> None:
    target = data / "litdata"
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
        return self._transform(_picture(sample["image"])), sample["label"]


def _picture(image: Any) -> Any:
    import torch

    if isinstance(image, torch.Tensor):  # newer versions decode to a tensor by themselves
        from torchvision.transforms.functional import to_pil_image

        return to_pil_image(image)
    return image.convert("RGB")


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    loader = StreamingDataLoader(_Images(data / "litdata"), batch_size=64, num_workers=2, persistent_workers=True)

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
