"""Data loading: worker processes read, unpack and batch samples."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import tempfile
import zlib
from typing import Any

from danlu.bench.inside.measured import Measured, rate, rates, time_steps
from danlu.bench.inside.place import Place


def work(place: Place, parameters: dict[str, Any]) -> Measured:
    num_samples, batch = int(parameters["samples"]), int(parameters["batch_size"])
    folder = tempfile.mkdtemp(prefix="danlu-bench-")
    try:
        paths = _write_samples(folder, num_samples, int(parameters["kilobytes"]), seed=place.rank)
        order = random.Random(place.rank)
        with multiprocessing.get_context("fork").Pool(int(parameters["workers"])) as pool:

            def step() -> None:
                chosen = order.sample(paths, batch)
                assert len(b"".join(pool.map(_load, chosen, chunksize=max(1, batch // 8)))) > 0

            seconds = time_steps(step, steps=int(parameters["steps"]), warmup=int(parameters["warmup"]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Measured({"throughput": rate(seconds, batch)}, {"throughput": rates(seconds, batch)})


def _write_samples(folder: str, num_samples: int, kilobytes: int, *, seed: int) -> list[str]:
    draw = random.Random(seed)
    paths = [os.path.join(folder, f"{number}.z") for number in range(num_samples)]
    for path in paths:
        pixels = bytes(draw.getrandbits(4) for _ in range(64)) * (16 * kilobytes)
        with open(path, "wb") as file:
            file.write(zlib.compress(pixels, 1))
    return paths


def _load(path: str) -> bytes:
    with open(path, "rb") as file:
        return zlib.decompress(file.read())
