"""The disk of the task: one large file and many small ones, written to the disk and read back."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from typing import Any

from danlu.bench.inside.measured import Measured
from danlu.bench.inside.place import Place

BLOCK_BYTES = 1 << 20


def work(place: Place, parameters: dict[str, Any]) -> Measured:
    del place
    folder = tempfile.mkdtemp(prefix="danlu-bench-")
    megabytes, num_files, rounds = (int(parameters[name]) for name in ("megabytes", "files", "steps"))
    measured = Measured(samples={"write": [], "read": [], "small_files": []})
    try:
        for number in range(int(parameters["warmup"]) + rounds):
            found = (_write(folder, megabytes), _read(folder, megabytes), _small(folder, num_files))
            if number >= int(parameters["warmup"]):
                for name, value in zip(measured.samples, found):
                    measured.samples[name].append(value)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    measured.metrics = {name: sum(values) / len(values) for name, values in measured.samples.items()}
    return measured


def _write(folder: str, megabytes: int) -> float:
    block, began = os.urandom(BLOCK_BYTES), time.perf_counter()
    with open(os.path.join(folder, "large"), "wb", buffering=0) as file:
        for _ in range(megabytes):
            file.write(block)
        os.fsync(file.fileno())
    return megabytes * BLOCK_BYTES / 1e6 / (time.perf_counter() - began)


def _read(folder: str, megabytes: int) -> float:
    with open(os.path.join(folder, "large"), "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # from the disk, not from memory
        began = time.perf_counter()
        while file.read(BLOCK_BYTES):
            pass
    return megabytes * BLOCK_BYTES / 1e6 / (time.perf_counter() - began)


def _small(folder: str, num_files: int) -> float:
    """Files of 4 KiB written, read and deleted, per second."""
    content, began = os.urandom(4096), time.perf_counter()
    for number in range(num_files):
        path = os.path.join(folder, str(number))
        with open(path, "wb") as file:
            file.write(content)
        with open(path, "rb") as file:
            file.read()
        os.unlink(path)
    return num_files / (time.perf_counter() - began)
