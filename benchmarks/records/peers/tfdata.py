"""tf.data: decode and crop in one step, antialiased resize, two threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf

MEAN = tf.constant([0.485 * 255, 0.456 * 255, 0.406 * 255])
STD = tf.constant([0.229 * 255, 0.224 * 255, 0.225 * 255])


def _load(record: Any) -> Any:
    encoded = tf.io.parse_single_example(record, {"image/encoded": tf.io.FixedLenFeature([], tf.string)})[
        "image/encoded"
    ]
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(encoded),
        bounding_boxes=tf.zeros([1, 0, 4]),
        min_object_covered=0.0,
        aspect_ratio_range=(3 / 4, 4 / 3),
        area_range=(0.08, 1.0),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    image = tf.image.decode_and_crop_jpeg(encoded, window, channels=3, dct_method="INTEGER_ACCURATE")
    image = tf.image.resize(image, [224, 224], antialias=True)
    image = tf.image.random_flip_left_right(image)
    return tf.transpose((image - MEAN) / STD, [2, 0, 1])


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    options = tf.data.Options()
    options.threading.private_threadpool_size = 2
    options.deterministic = False
    options.autotune.enabled = False  # autotuning ends a short epoch with seconds of idle back-off
    shards = sorted(str(path) for path in (data / "raw").glob("*.tfrecord"))
    records = tf.data.TFRecordDataset(shards).shuffle(1024)
    dataset = records.map(_load, num_parallel_calls=2).batch(64).prefetch(2).with_options(options)

    def epoch() -> Iterator[int]:
        for images in dataset:
            yield int(images.shape[0])

    return epoch
