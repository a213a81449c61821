"""The images to pack: one Source per image, from an image list or from COCO annotations."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from danlu_accel.records.errors import BadImageList
from danlu_accel.records.example import Value
from danlu_accel.records.files import Name
from danlu_accel.records.listing import ListedImage


@dataclass(frozen=True)
class Source:
    """One image file and the features stored with it."""

    path: str
    label: int
    features: dict[str, Value] = field(default_factory=dict)


def sources_from_list(images: Sequence[ListedImage], classes: Sequence[str] = ()) -> list[Source]:
    return [
        Source(image.path, image.label, {**_class_text(image.label, classes), "image/class/label": image.label})
        for image in images
    ]


def sources_from_coco(annotations: Name) -> tuple[list[Source], tuple[str, ...]]:
    """Read COCO `instances` JSON. Classes are numbered 0..C-1 in the order of their category ids.

    Boxes are stored as fractions of width and height, as TensorFlow's detection examples do.
    """
    try:
        coco: dict[str, Any] = json.loads(Path(annotations).read_text(encoding="utf-8"))
        categories = sorted(coco["categories"], key=lambda category: int(category["id"]))
        number_of = {category["id"]: number for number, category in enumerate(categories)}
        boxes: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for annotation in coco.get("annotations", []):
            boxes[annotation["image_id"]].append(annotation)
        sources = [_coco_source(image, boxes[image["id"]], number_of) for image in coco["images"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadImageList(f"cannot read COCO annotations {str(annotations)!r}: {error!r}") from error
    return sources, tuple(str(category["name"]) for category in categories)


def _class_text(label: int, classes: Sequence[str]) -> dict[str, Value]:
    return {"image/class/text": classes[label]} if 0 <= label < len(classes) and classes[label] else {}


def _coco_source(image: dict[str, Any], objects: list[dict[str, Any]], number_of: dict[Any, int]) -> Source:
    width, height = float(image["width"]), float(image["height"])
    corners = [(x, y, x + w, y + h) for x, y, w, h in (annotation["bbox"] for annotation in objects)]
    features: dict[str, Value] = {
        "image/source_id": str(image["id"]),
        "image/object/bbox/xmin": [float(box[0]) / width for box in corners],
        "image/object/bbox/ymin": [float(box[1]) / height for box in corners],
        "image/object/bbox/xmax": [float(box[2]) / width for box in corners],
        "image/object/bbox/ymax": [float(box[3]) / height for box in corners],
        "image/object/class/label": [number_of[annotation["category_id"]] for annotation in objects],
        "image/object/is_crowd": [int(annotation.get("iscrowd", 0)) for annotation in objects],
    }
    return Source(str(image["file_name"]), -1, features)
