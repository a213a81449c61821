"""The same photographs as files and as records, with a class each and with boxes, and readers for both."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from danlu_accel.records import (
    LoaderOptions,
    Objects,
    Recipe,
    RecordLoader,
    class_names,
    list_images,
    pack,
    sources_from_coco,
    sources_from_list,
    training_recipe,
)
from danlu_accel.records.recipe import IMAGENET_MEAN, IMAGENET_STD, Crop
from together.tasks import NUM_CLASSES, SIDE

RECORDS = Path(__file__).parents[1] / "records"
Batches = Iterator[tuple[Tensor, Any]]


def make_data(folder: Path, count: int) -> None:
    """Create photographs, boxes for them, and both packed, unless they exist."""
    sys.path.insert(0, str(RECORDS))
    from photos import make_photos

    photos = folder / "photos"
    make_photos(photos, count)
    if (folder / "boxes.index").is_file():
        return
    images, labels = list_images(photos)
    classes = class_names(labels)
    pack(photos, sources_from_list(images, classes), folder / "classes", classes=classes)
    (folder / "boxes.json").write_text(json.dumps(_coco(photos, [image.path for image in images], classes)))
    sources, classes = sources_from_coco(folder / "boxes.json")
    pack(photos, sources, folder / "boxes", classes=classes, kind="coco")


def _coco(photos: Path, paths: list[str], classes: tuple[str, ...]) -> dict[str, Any]:
    """Return annotations with three random boxes per image."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {"images": [], "annotations": []}
    found["categories"] = [{"id": number, "name": name} for number, name in enumerate(classes)]
    for number, path in enumerate(paths):
        width, height = Image.open(photos / path).size
        found["images"].append({"id": number, "file_name": path, "width": width, "height": height})
        for _ in range(3):
            x, y = rng.uniform(0, 0.6, 2) * (width, height)
            box = [float(x), float(y), 0.3 * width, 0.3 * height]
            kind = int(rng.integers(NUM_CLASSES))
            found["annotations"].append({"image_id": number, "category_id": kind, "bbox": box})
    return found


def from_files(folder: Path, batch_size: int, *, has_boxes: bool) -> Batches:
    """Like PyTorch's own examples: files, Pillow, torchvision's transforms, a DataLoader with one worker."""
    sys.path.insert(0, str(RECORDS / "peers"))
    import _torchvision as vision

    if has_boxes:
        dataset: Dataset[Any] = BoxFiles(folder, vision.transforms)
    else:
        steps = [vision.transforms.RandomResizedCrop(SIDE), vision.transforms.RandomHorizontalFlip()]
        steps += [vision.transforms.ToTensor(), vision.transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)]
        dataset = vision.datasets.ImageFolder(folder / "photos", vision.transforms.Compose(steps))
    sampler: DistributedSampler[Any] = DistributedSampler(dataset)
    collate = _collate_boxes if has_boxes else None
    loader = DataLoader(
        dataset, batch_size, sampler=sampler, num_workers=1, collate_fn=collate, drop_last=True, persistent_workers=True
    )
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


class BoxFiles(Dataset[Any]):
    """Images and boxes of COCO annotations, scaled to one size."""

    def __init__(self, folder: Path, transforms: Any) -> None:
        about = json.loads((folder / "boxes.json").read_text())
        self.photos, self.images = folder / "photos", about["images"]
        self.objects: dict[int, list[Any]] = {}
        for one in about["annotations"]:
            self.objects.setdefault(one["image_id"], []).append(one)
        steps = [transforms.Resize((SIDE, SIDE)), transforms.ToTensor()]
        self.transform = transforms.Compose([*steps, transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)])

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, position: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        about = self.images[position]
        picture = Image.open(self.photos / about["file_name"]).convert("RGB")
        found = self.objects.get(about["id"], [])
        corners = [[x, y, x + width, y + height] for x, y, width, height in (one["bbox"] for one in found)]
        scale = torch.tensor([SIDE / about["width"], SIDE / about["height"]] * 2)
        labels = torch.tensor([one["category_id"] for one in found])
        return self.transform(picture), (torch.tensor(corners) * scale, labels)


def _collate_boxes(samples: list[tuple[Tensor, tuple[Tensor, Tensor]]]) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    return torch.stack([image for image, _ in samples]), [target for _, target in samples]


def from_records(folder: Path, batch_size: int, *, has_boxes: bool) -> Batches:
    """Our loader with one thread, to match the one worker of `from_files`."""
    recipe = training_recipe(SIDE)
    if has_boxes:
        recipe = Recipe(Crop.WHOLE, SIDE, SIDE, mean=IMAGENET_MEAN, std=IMAGENET_STD)
    options = LoaderOptions(rank=dist.get_rank(), world_size=dist.get_world_size(), drop_last=True, threads=1)
    name = "boxes.index" if has_boxes else "classes.index"
    loader = RecordLoader(folder, name, recipe, batch_size=batch_size, options=options)
    while True:
        for images, targets in loader:
            yield images, [_tensors(one) for one in targets] if has_boxes else targets


def _tensors(objects: Objects) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(objects.boxes), torch.from_numpy(objects.labels)
