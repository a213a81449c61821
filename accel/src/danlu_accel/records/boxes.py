"""Transform boxes together with their image: crop, resize and mirror."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from danlu_accel.records.draws import Geometry
from danlu_accel.records.example import Feature, decode_example
from danlu_accel.records.recipe import Recipe

Boxes = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Objects:
    """The objects of one image: boxes as x0, y0, x1, y1 in pixels, and their labels."""

    boxes: Boxes
    labels: npt.NDArray[np.int64]
    is_crowd: npt.NDArray[np.bool_]
    image_id: str = ""


def objects_in(record: memoryview, geometry: Geometry, recipe: Recipe) -> Objects:
    """Read the objects of a record, in pixels of the image after `recipe`."""
    found = objects_of(decode_example(record), geometry.image_width, geometry.image_height)
    return follow(found, geometry, recipe.width, recipe.height)


def objects_of(features: dict[str, Feature], width: int, height: int) -> Objects:
    """Read the objects of a record, in pixels of the packed image."""
    sides = [_numbers(features, f"image/object/bbox/{side}") for side in ("xmin", "ymin", "xmax", "ymax")]
    boxes = np.stack(sides, 1) * np.array([width, height, width, height], np.float32)
    labels = np.array(features.get("image/object/class/label", []), np.int64)
    crowd = np.array(features.get("image/object/is_crowd", [0] * len(labels)), np.bool_)
    names = features.get("image/source_id") or [memoryview(b"")]
    return Objects(
        boxes.astype(np.float32), labels, crowd, str(names[0], "utf-8") if isinstance(names[0], memoryview) else ""
    )


def follow(objects: Objects, geometry: Geometry, out_width: int, out_height: int, min_visible: float = 0.0) -> Objects:
    """Return the objects in pixels of the output. Drops an object if less than the share `min_visible` of its area is
    left, or nothing at all."""
    g = geometry
    scale = np.array([g.virtual_width / g.width, g.virtual_height / g.height] * 2, np.float32)
    offset = np.array([g.x, g.y, g.x, g.y], np.float32)
    window = np.array([g.window_x, g.window_y, g.window_x, g.window_y], np.float32)
    moved = (objects.boxes - offset) * scale - window
    limits = np.array([out_width, out_height, out_width, out_height], np.float32)
    clipped = np.clip(moved, 0, limits)
    area, left = _area(moved), _area(clipped)
    keep = (left > 0) & (left >= min_visible * area)
    if g.flip:
        clipped = np.stack([out_width - clipped[:, 2], clipped[:, 1], out_width - clipped[:, 0], clipped[:, 3]], 1)
    return Objects(clipped[keep].astype(np.float32), objects.labels[keep], objects.is_crowd[keep], objects.image_id)


def _area(boxes: Boxes) -> npt.NDArray[Any]:
    area: npt.NDArray[Any] = np.maximum(boxes[:, 2] - boxes[:, 0], 0) * np.maximum(boxes[:, 3] - boxes[:, 1], 0)
    return area


def _numbers(features: dict[str, Feature], name: str) -> npt.NDArray[np.float32]:
    return np.array(features.get(name, []), np.float32)
