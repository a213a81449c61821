"""How long a consumer waits that works off the CPU, as an accelerator does, at 70 % of the loader's own rate."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from danlu_accel.records import LoaderOptions, RecordLoader

LOAD = 0.7


def main(folder: str) -> None:
    loader = RecordLoader(Path(folder), "train.index", batch_size=64, options=LoaderOptions(threads=2, drop_last=True))
    for _ in loader:
        pass
    began, images = time.perf_counter(), 0
    for batch, _ in loader:
        images += len(batch)
    rate = images / (time.perf_counter() - began)
    del batch  # held any longer, its memory would be missing below and be made anew in the middle of the measurement
    busy_seconds = 64 / (LOAD * rate)
    iterator = iter(loader)
    next(iterator)  # the first batch of an epoch is waited for by everyone
    starved, began = 0.0, time.perf_counter()
    while True:
        time.sleep(busy_seconds)
        asked = time.perf_counter()
        if next(iterator, None) is None:
            break
        starved += time.perf_counter() - asked
    print(json.dumps({"rate": rate, "starved_share": starved / (asked - began)}))


if __name__ == "__main__":
    main(sys.argv[1])
