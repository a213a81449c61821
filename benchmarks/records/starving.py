"""Waiting time of a consumer that computes off the CPU, like an accelerator, at 70 % of the loader's own rate."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from danlu_accel.records import LoaderOptions, RecordLoader

LOAD = 0.7
TIMED_SECONDS = 5.0


def main(folder: str) -> None:
    loader = RecordLoader(Path(folder), "train.index", batch_size=64, options=LoaderOptions(threads=2, drop_last=True))
    for _ in loader:
        pass
    rate = measured_rate(loader)
    busy_seconds = 64 / (LOAD * rate)
    starved = seconds = 0.0
    while seconds < TIMED_SECONDS:
        iterator = iter(loader)
        next(iterator)  # everyone waits for the first batch of an epoch
        began = time.perf_counter()
        while True:
            time.sleep(busy_seconds)
            asked = time.perf_counter()
            if next(iterator, None) is None:
                break
            starved += time.perf_counter() - asked
        seconds += asked - began
    print(json.dumps({"rate": rate, "starved_share": starved / seconds}))


def measured_rate(loader: RecordLoader) -> float:
    """Images per second if batches are discarded."""
    began, images = time.perf_counter(), 0
    while (seconds := time.perf_counter() - began) < TIMED_SECONDS:
        for batch, _ in loader:
            images += len(batch)
    return images / seconds


if __name__ == "__main__":
    main(sys.argv[1])
