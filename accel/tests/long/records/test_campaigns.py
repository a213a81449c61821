"""Larger sets: pixels of every subsampling, COCO boxes, and shards exchanged with other people's software."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from danlu_accel.records import (
    IndexTFRDataset,
    Recipe,
    RecordLoader,
    check,
    list_images,
    native,
    pack,
    sources_from_coco,
    sources_from_list,
)
from danlu_accel.records.draws import Geometry
from danlu_accel.records.native import to_native
from danlu_accel.records.pillow_path import finish, resized
from danlu_accel.records.prepare import same_pixels

pytestmark = pytest.mark.long
core: Any = native.core


def scene(number: int, width: int, height: int) -> Image.Image:
    rng = np.random.default_rng(number)
    small = Image.fromarray(rng.integers(0, 256, (6 + number % 9, 8 + number % 7, 3), dtype=np.uint8))
    smooth = np.asarray(small.resize((width, height), Image.Resampling.BICUBIC), np.float32)
    noise = rng.normal(0, number % 17, smooth.shape)
    return Image.fromarray(np.clip(smooth + noise, 0, 255).astype(np.uint8))


@pytest.mark.skipif(core is None, reason=native.advice())
@pytest.mark.parametrize("sampling", ["1x1", "2x1", "1x2", "2x2", "4x1"])
def test_every_subsampling_is_within_two_levels_of_pillow(
    install: Callable[..., None], tmp_path: Path, sampling: str
) -> None:
    install("libjpeg-turbo-progs")
    recipe = Recipe(flip_probability=0.5, height=97, width=113, as_bytes=True, channels_last=True)
    out = np.empty((97, 113, 3), np.uint8)
    worst = 0
    for number in range(300):
        size = (40 + number * 37 % 500, 40 + number * 61 % 420)
        scene(number, *size).save(tmp_path / "a.ppm")
        command = ["cjpeg", "-quality", str(60 + number % 40), "-sample", sampling, str(tmp_path / "a.ppm")]
        original = subprocess.run(command, capture_output=True, check=True).stdout
        rewritten = core.transcode(original, 5, True)
        assert same_pixels(original, rewritten)
        (tmp_path / "a.jpg").write_bytes(original)
        with Image.open(tmp_path / "a.jpg") as image:
            whole = image.convert("RGB")
        for key, data in ((number, original), (number, rewritten), (number + 1000, rewritten)):
            status, fields = core.load(data, to_native(recipe), key, out.ctypes.data, out.nbytes)
            assert status == 0
            expected = finish(resized(whole, recipe, Geometry(*fields)), recipe)
            worst = max(worst, int(np.abs(out.astype(int) - expected).max()))
    assert worst <= 2


def test_coco_boxes_frame_what_they_framed(tmp_path: Path) -> None:
    """Bright rectangles on dark pictures, many per picture: each box that survives frames bright pixels."""
    images, annotations = [], []
    rng = np.random.default_rng(0)
    for number in range(120):
        width, height = int(rng.integers(80, 400)), int(rng.integers(80, 400))
        picture = np.zeros((height, width, 3), np.uint8)
        x, y = int(rng.integers(0, width - 40)), int(rng.integers(0, height - 40))
        w, h = int(rng.integers(20, width - x)), int(rng.integers(20, height - y))
        picture[y : y + h, x : x + w] = 255
        Image.fromarray(picture).save(tmp_path / f"{number}.jpg", quality=98, subsampling=0)
        images.append({"id": number, "file_name": f"{number}.jpg", "width": width, "height": height})
        annotations.append({"image_id": number, "category_id": 1, "bbox": [x, y, w, h]})
    coco = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "bright"}]}
    (tmp_path / "coco.json").write_text(json.dumps(coco))
    sources, classes = sources_from_coco(tmp_path / "coco.json")
    pack(tmp_path, sources, tmp_path / "x", classes=classes, kind="coco")
    compared = 0
    with RecordLoader(tmp_path, "x.index", Recipe(height=96, width=96, flip_probability=0.5), batch_size=30) as loader:
        for _ in range(10):
            for batch, found in loader:
                for image, objects in zip(batch.numpy(), found):
                    rows, columns = np.nonzero(image[0] > 0.5)
                    if not len(objects.boxes) or not len(rows):
                        continue
                    x0, y0, x1, y1 = objects.boxes[0]
                    edges = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
                    assert np.abs(edges - (x0, y0, x1, y1)).max() <= 2.5
                    compared += 1
    assert compared > 800


def test_the_tfrecord_package_reads_ours_and_we_read_theirs(tmp_path: Path) -> None:
    for number in range(20):
        folder = tmp_path / "photos" / f"class_{number % 4}"
        folder.mkdir(parents=True, exist_ok=True)
        scene(number, 60, 50).save(folder / f"{number}.jpg")
    images, labels = list_images(tmp_path / "photos")
    index = pack(tmp_path / "photos", sources_from_list(images, list(labels)), tmp_path / "ours").index_path
    assert check(index, decode=True) == []
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", "tfrecord", "numpy"], check=True, capture_output=True)
    code = """
import sys
from tfrecord.reader import tfrecord_loader
from tfrecord.writer import TFRecordWriter
kinds = {"image/encoded": "byte", "image/class/label": "int"}
writer = TFRecordWriter(sys.argv[2])
# With an index it begins anywhere and comes round; without one it reads in order.
assert sum(1 for _ in tfrecord_loader(sys.argv[1], sys.argv[1].replace(".tfrecord", ".idx"), kinds)) == 20
for record in tfrecord_loader(sys.argv[1], None, kinds):
    label = int(record["image/class/label"][0])
    writer.write({"image/encoded": (bytes(record["image/encoded"]), "byte"), "image/class/label": (label, "int")})
writer.close()
"""
    subprocess.run(
        [str(python), "-c", code, str(tmp_path / "ours.tfrecord"), str(tmp_path / "theirs.tfrecord")], check=True
    )
    ours, theirs = IndexTFRDataset(tmp_path, "ours.index"), IndexTFRDataset(tmp_path, "theirs.tfrecord")
    assert theirs.targets == ours.targets
    for position in range(20):
        assert np.array_equal(np.asarray(theirs[position][0]), np.asarray(ours[position][0]))
    shutil.rmtree(tmp_path / "venv")
