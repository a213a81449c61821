"""DALI on the CPU: TFRecord reader, fused decode and random crop, antialiased resize."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.tfrecord import FixedLenFeature, string


@pipeline_def(batch_size=64, num_threads=2, device_id=None, prefetch_queue_depth=2)
def _pipeline(folder: Path) -> Any:
    shards = sorted(str(path) for path in folder.glob("*.tfrecord"))
    record = fn.readers.tfrecord(
        path=shards,
        index_path=[shard.replace(".tfrecord", ".idx") for shard in shards],
        features={"image/encoded": FixedLenFeature((), string, "")},
        random_shuffle=True,
        initial_fill=1024,
        name="reader",
    )
    images = fn.decoders.image_random_crop(
        record["image/encoded"], device="cpu", random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
    )
    images = fn.resize(images, resize_x=224, resize_y=224, interp_type=types.INTERP_LINEAR, antialias=True)
    return fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mirror=fn.random.coin_flip(probability=0.5),
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
    )


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    pipeline = _pipeline(data / "raw")
    pipeline.build()
    count = pipeline.epoch_size("reader")

    def epoch() -> Iterator[int]:
        for _ in range(-(-count // 64)):
            (images,) = pipeline.run()
            yield len(images)

    return epoch
